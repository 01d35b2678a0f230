/**
 * A restored database, while a transaction of the lost history waits at the node: Stellar does not show it,
 * and another channel could burn the same again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startStellarWorld, type StellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import { attempts, retirements } from '../../../src/db/tables/index.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { holding, retirement } from '../../support/holding.ts';
import { instancesOn } from '../../support/onInstance.ts';

/** So many channels that the copy is unlikely to take the same one. */
const CHANNELS = 12;
/** Longer than signing and sending take. */
const SENT_MS = 2_000;

let world: StellarWorld;
beforeAll(async () => {
  world = await startStellarWorld({ channels: CHANNELS, devnet: { closeEveryMs: 500, closeSeconds: 1 } });
});
afterAll(() => world.close());
const onInstance = instancesOn(() => world);

it.each([
  ['that is an hour old', sql`now() - interval '1 hour'`, sql`database_history()`],
  ['that lost the commits of a moment', sql`now()`, sql`'of the original'`],
])(
  'signs nothing on a copy %s until that has landed or can land no more',
  { timeout: 120_000 },
  async (_age, seenAt, history) => {
    const original = await createTestDatabase();
    await original.handle.close();
    const tokenAddress = await onInstance(original.url, (platform) => holding(platform, 100n));
    const copy = await createTestDatabase({ copyOf: original });
    const input = retirement(tokenAddress, 20n);

    world.testbed.devnet.controls.hold();
    await onInstance(original.url, async ({ dependencies }) => {
      const { db } = dependencies;
      await retire({ ...dependencies, mutationWaitMs: 0 }, 'acme', input);
      await expect.poll(() => db.$count(attempts, eq(attempts.state, 'OPEN'))).toBe(1);
      await delay(SENT_MS);
    });
    await copy.handle.db.execute(sql`INSERT INTO final_ledger (ledger, seen_at, database_history)
    VALUES (1, ${seenAt}, ${history})
    ON CONFLICT (singleton) DO UPDATE SET (seen_at, database_history) = (excluded.seen_at, excluded.database_history)`);
    await onInstance(copy.url, async ({ dependencies }) => {
      const { db, network } = dependencies;
      await retire({ ...dependencies, mutationWaitMs: 0 }, 'acme', input);
      await delay(4 * SENT_MS);
      expect(await db.$count(attempts, eq(attempts.state, 'OPEN'))).toBe(0);
      world.testbed.devnet.controls.release();
      const totals = () => network.carbonTotals(tokenAddress);
      await expect.poll(totals, { timeout: 20_000 }).toMatchObject({ totalRetirements: 1 });
      // Makes the waiting time pass.
      const isResumed = sql`resumed_at IS NOT NULL`;
      await expect
        .poll(async () => (await db.execute(sql`SELECT 1 FROM final_ledger WHERE ${isResumed}`)).length, {
          timeout: 30_000,
        })
        .toBe(1);
      await db.execute(sql`UPDATE final_ledger SET resumed_at = now() - interval '1 hour'`);
      const state = async () => (await db.select().from(retirements)).map((row) => row.state);
      await expect.poll(state, { timeout: 20_000 }).toEqual(['NEEDS_REVIEW']);
      expect(await totals()).toMatchObject({ totalRetirements: 1 });
    });
    await Promise.all([original, copy].map((database) => database.drop()));
  },
);
