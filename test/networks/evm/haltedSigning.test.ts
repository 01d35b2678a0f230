/**
 * A database that is older than the transactions of its signing account: signing stops, and goes on only when
 * books and network agree.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { eq, isNotNull, lte, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { type DatabaseHandle } from '../../../src/db/connection.ts';
import { attempts, signingAccounts } from '../../../src/db/tables/index.ts';
import type { EvmLedger } from '../../../src/ledger/network/evm/settings.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { copyWhileHolding, instancesOn } from '../../support/onInstance.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { holding, retirement } from '../../support/holding.ts';

let world: EvmWorld;
/**
 * Five blocks a second, and a block is final after five others: reads do not show a landed transaction for a
 * while.
 */
beforeAll(async () => {
  world = await startEvmWorld({
    mining: { everySeconds: 0.2 },
    ledger: { finality: { confirmations: 5 } },
  });
});
afterAll(() => world.close());

/** With equal fees, equal calls in one slot are equal bytes, and land once in any case. */
const OTHER_FEES: Partial<EvmLedger> = { maxFeePerGasCap: 9n * 10n ** 8n };

const onInstance = instancesOn(() => world);

/** Waits until the open attempt was given to the node, which may have a dearer one in the same slot. */
async function untilSent({ db }: DatabaseHandle): Promise<void> {
  await expect.poll(() => db.$count(attempts, eq(attempts.state, 'OPEN'))).toBe(1);
  await delay(500);
}

async function haltedBecause({ db }: DatabaseHandle): Promise<string | null> {
  const [account] = await db.select().from(signingAccounts);
  return account?.haltedBecause ?? null;
}

/** Makes the next look at the halt due within a second, because it may be due in half a minute. */
async function makePollDue({ db }: DatabaseHandle): Promise<void> {
  await db
    .update(signingAccounts)
    .set({ reviewDueAt: sql`least(${signingAccounts.reviewDueAt}, now() + interval '1 second')` })
    .where(isNotNull(signingAccounts.haltedBecause));
}

/** Resolves when one more look has begun, which moves the due time of the following one. */
async function lookedAgain(handle: DatabaseHandle): Promise<void> {
  await makePollDue(handle);
  const isSoon = lte(signingAccounts.reviewDueAt, sql`now() + interval '1 second'`);
  await expect.poll(() => handle.db.$count(signingAccounts, isSoon), { interval: 200 }).toBe(0);
}

/** For conditions that take seconds. */
const SELDOM = { timeout: 40_000, interval: 500 };

describe('a database restored from a copy', () => {
  it('does not burn again what was burned after the copy was made', async () => {
    const { original, copy, tokenAddress, drop } = await copyWhileHolding(onInstance, 100n);
    const input = retirement(tokenAddress, 30n);
    await onInstance(original.url, async ({ dependencies }) => {
      expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'RETIRED' });
    });
    // The client never saw the answer, and repeats the request on the restored platform.
    await onInstance(copy.url, async ({ dependencies, handle }) => {
      expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'NEEDS_REVIEW' });
      expect(await haltedBecause(handle)).toMatch(/the database is an old copy/);
      // The platform signs nothing else either.
      expect(await retire(dependencies, 'acme', retirement(tokenAddress, 1n))).toMatchObject({
        state: 'NEEDS_REVIEW',
      });
      const { network } = dependencies;
      expect(await network.carbonTotals(tokenAddress)).toMatchObject({ totalRetirements: 1 });
      const { findings } = await reconcileAll({ ...dependencies, isStill: true });
      expect(findings.map(({ invariant }) => invariant)).toContain('I4');
    });
    await drop();
  });
});

describe('a slot that was taken by bytes unknown to this database', () => {
  it('stops signing, and does not burn a second time', async () => {
    const { original, copy, tokenAddress, drop } = await copyWhileHolding(onInstance, 100n);
    const input = retirement(tokenAddress, 30n);
    // The original signs and sends it, but no block contains it when the copy takes over.
    await world.node.rpc('evm_setIntervalMining', [0]);
    const begin = (platform: Platform) => {
      platform.dependencies.mutationWaitMs = 0;
      return retire(platform.dependencies, 'acme', input);
    };
    await onInstance(original.url, async (platform) => {
      const { handle } = platform;
      await begin(platform);
      await untilSent(handle);
    });
    await onInstance(
      copy.url,
      async (platform) => {
        const { handle } = platform;
        await begin(platform);
        await untilSent(handle);
        await world.node.rpc('evm_setIntervalMining', [1]);
        await expect.poll(() => haltedBecause(handle), SELDOM).toMatch(/knows nothing of/);
        await world.node.mine(10);
        await lookedAgain(handle);
        await lookedAgain(handle);
        const { network } = platform.dependencies;
        expect(await network.carbonTotals(tokenAddress)).toMatchObject({ totalRetirements: 1 });
        expect(await haltedBecause(handle)).not.toBeNull();
      },
      {
        ledger: OTHER_FEES,
        // The node does not show waiting transactions: the other one is noticed when it has landed.
        adapt: (network) => ({
          ...network,
          nextSequences: (by) => network.nextSequences(by === 'waiting' ? 'latest' : by),
        }),
      },
    );
    await drop();
  });
});

describe('a key that was used elsewhere', () => {
  it('goes on by itself when books and network agree', async () => {
    const database: TestDatabase = await createTestDatabase();
    await database.handle.close();
    await onInstance(database.url, async (platform) => {
      const { dependencies, handle } = platform;
      const tokenAddress = await holding(platform, 100n);
      await world.setPaused(tokenAddress, true);
      await world.setPaused(tokenAddress, false);
      const input = retirement(tokenAddress, 30n);
      dependencies.mutationWaitMs = 0;
      await expect
        .poll(async () => {
          await makePollDue(handle);
          return (await retire(dependencies, 'acme', input)).state;
        }, SELDOM)
        .toBe('RETIRED');
      expect(await haltedBecause(handle)).toBeNull();
      expect(await reconcileAll(dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
    });
    await database.drop();
  });
});
