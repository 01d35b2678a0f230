/**
 * A cloned database with other channels than those that the original burned with: nothing is burned again,
 * although the sequence of every channel that the clone knows is as the clone expects.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startStellarWorld, type StellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import { submissions } from '../../../src/db/tables/index.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { holding, retirement } from '../../support/holding.ts';
import { instancesOn } from '../../support/onInstance.ts';

const CHANNELS = 4;
let world: StellarWorld;
beforeAll(async () => {
  world = await startStellarWorld({ channels: CHANNELS });
});
afterAll(() => world.close());

const onInstance = instancesOn(() => world);
/** Options of an instance with only these channels. */
const withChannels = (channelSecretKeys: readonly string[]) => ({ ledger: { channelSecretKeys } });

it.each([
  [
    'the original burned with channels that the clone does not have',
    (all: readonly string[]) => all.slice(0, 2),
  ],
  ['the clone has channels that are new to its database', (all: readonly string[]) => all],
])('burns nothing twice when %s', { timeout: 120_000 }, async (_when, channelsOfClone) => {
  const all = world.ledger.channelSecretKeys;
  const original = await createTestDatabase();
  await original.handle.close();
  const tokenAddress = await onInstance(
    original.url,
    (platform) => holding(platform, 10n),
    withChannels(all.slice(0, 2)),
  );
  const clone = await createTestDatabase({ copyOf: original });
  // So long ago that the original's transactions can no longer land.
  await clone.handle.db.execute(sql`UPDATE final_ledger SET database_history = database_history()`);
  await clone.handle.close();
  const input = retirement(tokenAddress, 4n);
  // The original first checks its new channels; the same request waits for that.
  await onInstance(
    original.url,
    ({ dependencies }) =>
      expect
        .poll(async () => (await retire(dependencies, 'acme', input)).state, { timeout: 60_000 })
        .toBe('RETIRED'),
    withChannels(all.slice(2)),
  );
  await onInstance(
    clone.url,
    async ({ dependencies }) => {
      expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'NEEDS_REVIEW' });
      const stored = await dependencies.db.select().from(submissions);
      const undecided = stored.find(({ state }) => state === 'NEEDS_REVIEW');
      expect(['FOUND_ON_NETWORK', 'SIGNING_HALTED']).toContain(undecided?.reviewCause);
      expect(await dependencies.network.carbonTotals(tokenAddress)).toMatchObject({ totalRetirements: 1 });
    },
    withChannels(channelsOfClone(all)),
  );
  await Promise.all([original, clone].map((database) => database.drop()));
});
