/**
 * A cloned database whose channels are not those that the original burned with: what was burned is not burned again,
 * although the sequence of every channel that the clone knows is its own.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startStellarWorld, type StellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { openDatabase } from '../../../src/db/connection.ts';
import { submissions } from '../../../src/db/tables/index.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { holding, retirement } from '../../support/holding.ts';
import { platformOn } from '../../support/platform.ts';

const CHANNELS = 4;
let world: StellarWorld;
beforeAll(async () => {
  world = await startStellarWorld({ channels: CHANNELS });
});
afterAll(() => world.close());

/** Runs an instance whose channels are these of the world's, for as long as `work` takes. */
async function withChannels<T>(
  url: string,
  channelSecretKeys: readonly string[],
  work: (platform: Platform) => Promise<T>,
): Promise<T> {
  const handle = openDatabase({ url, poolSize: 5, applicationName: 'other channels' });
  const network = await connectLedger({ ...world.ledger, channelSecretKeys }, handle);
  const platform = await platformOn(handle, network, { mutationWaitMs: 20_000 });
  await platform.start();
  try {
    return await work(platform);
  } finally {
    await platform.stop();
    await handle.close();
  }
}

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
  const tokenAddress = await withChannels(original.url, all.slice(0, 2), (platform) =>
    holding(platform, 10n),
  );
  const clone = await createTestDatabase({ copyOf: original });
  await clone.handle.close();
  const input = retirement(tokenAddress, 4n);
  // Its new channels are looked at first; the same request waits for that.
  await withChannels(original.url, all.slice(2), ({ dependencies }) =>
    expect
      .poll(async () => (await retire(dependencies, 'acme', input)).state, { timeout: 60_000 })
      .toBe('RETIRED'),
  );
  await withChannels(clone.url, channelsOfClone(all), async ({ dependencies }) => {
    expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'NEEDS_REVIEW' });
    const stored = await dependencies.db.select().from(submissions);
    const undecided = stored.find(({ state }) => state === 'NEEDS_REVIEW');
    expect(['FOUND_ON_NETWORK', 'SIGNING_HALTED']).toContain(undecided?.reviewCause);
    expect(await dependencies.network.carbonTotals(tokenAddress)).toMatchObject({ totalRetirements: 1 });
  });
  await Promise.all([original, clone].map((database) => database.drop()));
});
