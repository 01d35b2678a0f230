/**
 * A database that is older than what its signing account has sent: signing stops, and goes on only when books and
 * network agree.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import type { Platform } from '../../src/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { attempts, signingAccounts } from '../../src/db/schema/index.ts';
import type { EvmLedger } from '../../src/ledgerConfig.ts';
import { purchase } from '../../src/resolvers/purchase.ts';
import { retire } from '../../src/resolvers/retire.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { connectLedger } from '../harness/ledgers.ts';
import { openProject, platformOn } from '../harness/platform.ts';
import { startEvmWorld, type EvmWorld } from '../networks/evmWorld.ts';

let world: EvmWorld;
/** Five blocks a second, final when five others stand on them: what has landed is not in the reads for a while. */
beforeAll(async () => {
  world = await startEvmWorld({
    mining: { everySeconds: 0.2 },
    ledger: { finality: { confirmations: 5 } },
  });
});
afterAll(() => world.close());

const MUTATION_WAIT_MS = 15_000;
/** Equal calls with equal fees in one slot are equal bytes, and land once in any case. */
const OTHER_FEES: Partial<EvmLedger> = { maxFeePerGasCap: 9n * 10n ** 8n };

/** Runs an instance on a database for as long as `work` takes. */
async function onInstance<T>(
  url: string,
  work: (platform: Platform, handle: DatabaseHandle) => Promise<T>,
  ledger: Partial<EvmLedger> = {},
) {
  const handle = openDatabase({ url, poolSize: 5, applicationName: 'halted signing' });
  const platform = await platformOn(handle, await connectLedger({ ...world.ledger, ...ledger }, handle), {
    mutationWaitMs: MUTATION_WAIT_MS,
  });
  await platform.start();
  try {
    return await work(platform, handle);
  } finally {
    await platform.stop();
    await handle.close();
  }
}

async function holding(platform: Platform, tonnes: bigint): Promise<string> {
  const { tokenAddress } = await openProject(platform, tonnes);
  await purchase(platform.dependencies, 'acme', {
    buyerId: 'acme',
    tokenAddress,
    amountCO2e: tonnes,
    idempotencyKey: randomUUID(),
  });
  return tokenAddress;
}

const retirement = (tokenAddress: string, amountCO2e: bigint) => ({
  buyerId: 'acme',
  buyerName: 'Acme Ltd',
  tokenAddress,
  amountCO2e,
  note: '',
  idempotencyKey: randomUUID(),
});

/** The one open attempt was given to the node; which may have a dearer one in the same slot. */
async function untilSent({ db }: DatabaseHandle): Promise<void> {
  await expect.poll(() => db.$count(attempts, eq(attempts.state, 'OPEN')), { timeout: 10_000 }).toBe(1);
  await delay(500);
}

async function haltedBecause({ db }: DatabaseHandle): Promise<string | null> {
  const [account] = await db.select().from(signingAccounts);
  return account?.haltedBecause ?? null;
}

describe('a database restored from a copy', () => {
  it('does not burn again what was burned after the copy was made', async () => {
    const original = await createTestDatabase();
    await original.handle.close();
    const tokenAddress = await onInstance(original.url, (platform) => holding(platform, 100n));
    const copy = await createTestDatabase({ copyOf: original });
    await copy.handle.close();
    const input = retirement(tokenAddress, 30n);
    await onInstance(original.url, async ({ dependencies }) => {
      expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'RETIRED' });
    });
    // The client never saw the answer, and asks the restored platform again.
    await onInstance(copy.url, async ({ dependencies }, handle) => {
      expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'PENDING' });
      expect(await haltedBecause(handle)).toMatch(/the database is an old copy/);
      // Nor does it sign anything else.
      expect(await retire(dependencies, 'acme', retirement(tokenAddress, 1n))).toMatchObject({
        state: 'PENDING',
      });
      const { network } = dependencies;
      expect(await network.carbonTotals(tokenAddress)).toMatchObject({ totalRetirements: 1 });
      const { findings } = await audit({ ...dependencies, isStill: true });
      expect(findings.map(({ invariant }) => invariant)).toContain('I4');
    });
    await Promise.all([original, copy].map((database) => database.drop()));
  });
});

describe('a slot that was taken by bytes which nobody here knows', () => {
  it('stops signing, and does not burn a second time', async () => {
    const original = await createTestDatabase();
    await original.handle.close();
    const tokenAddress = await onInstance(original.url, (platform) => holding(platform, 100n));
    const copy = await createTestDatabase({ copyOf: original });
    await copy.handle.close();
    const input = retirement(tokenAddress, 30n);
    // Signed and sent by the original, but in no block yet when the copy takes over.
    await world.node.rpc('evm_setIntervalMining', [0]);
    const begin = (platform: Platform) => {
      platform.dependencies.mutationWaitMs = 0;
      return retire(platform.dependencies, 'acme', input);
    };
    await onInstance(original.url, async (platform, handle) => {
      await begin(platform);
      await untilSent(handle);
    });
    await onInstance(
      copy.url,
      async (platform, handle) => {
        await begin(platform);
        await untilSent(handle);
        await world.node.rpc('evm_setIntervalMining', [1]);
        await expect.poll(() => haltedBecause(handle), { timeout: 20_000 }).toMatch(/knows nothing of/);
        await delay(3_000);
        const { network } = platform.dependencies;
        expect(await network.carbonTotals(tokenAddress)).toMatchObject({ totalRetirements: 1 });
        expect(await haltedBecause(handle)).not.toBeNull();
      },
      OTHER_FEES,
    );
    await Promise.all([original, copy].map((database) => database.drop()));
  });
});

describe('a key that was used elsewhere', () => {
  it('goes on by itself when books and network agree', async () => {
    const database: TestDatabase = await createTestDatabase();
    await database.handle.close();
    await onInstance(database.url, async (platform, handle) => {
      const { dependencies } = platform;
      const tokenAddress = await holding(platform, 100n);
      await world.setPaused(tokenAddress, true);
      await world.setPaused(tokenAddress, false);
      const input = retirement(tokenAddress, 30n);
      const first = await retire(dependencies, 'acme', input);
      // Soon, or with the next look.
      const last = first.state === 'RETIRED' ? first : await retire(dependencies, 'acme', input);
      expect(last).toMatchObject({ state: 'RETIRED' });
      expect(await haltedBecause(handle)).toBeNull();
      expect(await audit(dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
    });
    await database.drop();
  });
});
