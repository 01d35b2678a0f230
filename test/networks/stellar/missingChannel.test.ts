/**
 * A configured channel that does not exist: the other channels sign, operators are warned, and the channel
 * signs once it exists.
 */
import { randomUUID } from 'node:crypto';
import { Keypair } from '@stellar/stellar-sdk';
import { eq, inArray, isNotNull } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { attempts, signingAccounts, submissions } from '../../../src/db/tables/index.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { openProject } from '../../../devnet/platform.ts';
import { startStellarWorld, type StellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import { retirement } from '../../support/holding.ts';

let world: StellarWorld;
let marketplace: Marketplace;
let network: LedgerNetwork;
const late = Keypair.random();
const warnings: string[] = [];
/** Only a hang takes this long; on a busy machine a retirement takes many seconds. */
const PATIENCE_MS = 50_000;

beforeAll(async () => {
  world = await startStellarWorld({ channels: 1 });
  network = await world.testbed.open({
    channelSecretKeys: [late.secret(), ...world.ledger.channelSecretKeys],
    log: { warn: (message: unknown) => void warnings.push(String(message)) },
  });
  marketplace = await startMarketplace({
    network,
    clockControl: undefined,
    withIndexer: false,
    mutationWaitMs: PATIENCE_MS,
  });
});
afterAll(async () => {
  await marketplace.stop();
  await world.close();
});

const aboutIt = () => warnings.filter((message) => message.includes(late.publicKey()));

async function retireTogether(tokenAddress: string, count: number): Promise<string[]> {
  const done = await Promise.all(
    Array.from({ length: count }, () =>
      retire(marketplace.app.dependencies, 'acme', retirement(tokenAddress, 1n)),
    ),
  );
  return done.map(({ state }) => state);
}

/** Counts unsettled submissions and accounts for which signing is halted. */
async function undecided(): Promise<number> {
  const { db } = marketplace.app.dependencies;
  const open = await db.$count(submissions, inArray(submissions.state, ['PENDING', 'NEEDS_REVIEW']));
  return open + (await db.$count(signingAccounts, isNotNull(signingAccounts.haltedBecause)));
}

it('is left out, logged once, and signs when it is there', { timeout: 3 * PATIENCE_MS }, async () => {
  const { dependencies } = marketplace.app;
  const readyz = new URL('/readyz', marketplace.url);
  const { tokenAddress } = await openProject({ dependencies }, 10n);
  await purchase(dependencies, 'acme', {
    buyerId: 'acme',
    tokenAddress,
    amountCO2e: 10n,
    idempotencyKey: randomUUID(),
  });
  expect(await retireTogether(tokenAddress, 2)).toEqual(['RETIRED', 'RETIRED']);
  expect(aboutIt()).toEqual([expect.stringContaining('does not exist on the network') as string]);
  const readiness = await fetch(readyz);
  expect([readiness.status, await readiness.json()]).toMatchObject([
    200,
    { status: 'ready', checks: { channels: '1 of 2 signing accounts do not exist' } },
  ]);

  const { devnet } = world.testbed;
  devnet.fund(late.publicKey());
  // Signing halts for the account that is new to the database, until books and network are proved to agree.
  await retireTogether(tokenAddress, 2);
  await expect.poll(undecided, { timeout: PATIENCE_MS }).toBe(0);
  // Nothing lands while ledgers are held, so two signed transactions need both channels.
  devnet.controls.hold();
  const retired = retireTogether(tokenAddress, 2);
  await expect
    .poll(() => dependencies.db.$count(attempts, eq(attempts.state, 'OPEN')), { timeout: PATIENCE_MS })
    .toBe(2);
  devnet.controls.release();
  expect(await retired).toEqual(['RETIRED', 'RETIRED']);
  expect(await dependencies.db.$count(attempts, eq(attempts.source, late.publicKey()))).toBeGreaterThan(0);
  expect(aboutIt()).toHaveLength(2);
  expect(await (await fetch(readyz)).json()).toEqual({
    status: 'ready',
    checks: { database: 'ok', network: 'ok' },
  });
});
