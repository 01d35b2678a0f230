/**
 * A copy of the database from before the deploy of the settlement contract, on a real EVM chain and on
 * Stellar's real host: the copy finds that contract, and deploys no second one.
 */
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/db/connection.ts';
import { finalLedger, settlementDeployments, submissions } from '../../../src/db/tables/index.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { deployRampSettlement } from '../../../src/resolvers/operations/deployRampSettlement.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { startEvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { startStellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import type { NetworkWorld } from '../../../devnet/world.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { decideReview, type Instance } from '../../support/onInstance.ts';
import { holding } from '../../support/holding.ts';
import { platformOn } from '../../support/platform.ts';

/** A copy halts, and goes on without an operator within half a minute. */
const GOES_ON_WITHIN_MS = 60_000;

/**
 * For a spread: a family may lack this member, and TypeScript refuses unknown members that are written out.
 */
const UNCONFIGURED = { settlementAddress: undefined };

describe.each([
  ['an EVM chain', async () => startEvmWorld()],
  // With the tests' usual clock, 40 times as fast, an instance that restarts on a busy machine would have
  // been away for minutes.
  ['Stellar', async () => startStellarWorld({ devnet: { closeEveryMs: 500 } })],
] as const)('a settlement contract that was deployed after the backup, on %s', (_name, startWorld) => {
  let world: NetworkWorld;
  const databases: TestDatabase[] = [];
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.drop()));
    await world.close();
  });

  async function createDatabase(copyOf?: TestDatabase): Promise<TestDatabase> {
    const database = await createTestDatabase(copyOf && { copyOf });
    // On a slow machine the original has already stored a final ledger, and its copy would sign nothing for
    // three minutes.
    await database.handle.db.delete(finalLedger);
    await database.handle.close();
    databases.push(database);
    return database;
  }

  /** Runs an instance without a configured settlement contract. */
  async function on<T>(
    { url }: TestDatabase,
    work: (instance: Instance) => Promise<T>,
    { starts = true, adapt = (network: LedgerNetwork) => network } = {},
  ): Promise<T> {
    const handle = openDatabase({ url, poolSize: 5, applicationName: 'an instance' });
    const network = adapt(await connectLedger({ ...world.ledger, ...UNCONFIGURED }, handle));
    const platform = await platformOn(handle, network, starts ? {} : { mutationWaitMs: 0 });
    if (starts) await platform.start();
    try {
      return await work({ ...platform, handle });
    } finally {
      await platform.stop();
      await handle.close();
    }
  }

  const ask =
    (idempotencyKey: string) =>
    ({ dependencies }: Instance) =>
      deployRampSettlement(dependencies, 'operator', { idempotencyKey });

  it('is found, and adopted where its deploy was begun', { timeout: 2 * GOES_ON_WITHIN_MS }, async () => {
    const original = await createDatabase();
    await on(original, (instance) => holding(instance, 10n));
    const older = await createDatabase(original);
    await on(original, ask('the first'), { starts: false });
    const younger = await createDatabase(original);
    const deployed = await on(original, async ({ handle }) => {
      const read = async () => (await handle.db.select().from(settlementDeployments))[0];
      await expect.poll(read).toMatchObject({ state: 'DEPLOYED' });
      return read();
    });
    const settlementAddress = deployed?.settlementAddress ?? '';

    await on(older, async (instance) => {
      const refused = { code: 'CONFLICT', details: { settlementAddress } };
      await expect(ask('after a restore')(instance)).rejects.toMatchObject(refused);
      expect(await instance.handle.db.select().from(settlementDeployments)).toEqual([]);
    });

    let shown: { treasury?: string } = { treasury: settlementAddress };
    const adapt = (network: LedgerNetwork): LedgerNetwork => ({
      ...network,
      findSettlement: async (sought) => {
        const found = await network.findSettlement(sought);
        return found && { ...found, ...shown };
      },
    });
    await on(younger, (instance) => expectAdopted(instance, settlementAddress, () => (shown = {})), {
      adapt,
    });
  });
});

/** @param showTruth until its call, the contract is shown with a treasury that was not requested */
async function expectAdopted(
  instance: Instance,
  settlementAddress: string,
  showTruth: () => void,
): Promise<void> {
  const { db } = instance.handle;
  const isDeploy = eq(submissions.kind, 'deployRampSettlement');
  await expect
    .poll(() => db.select().from(submissions).where(isDeploy), { timeout: GOES_ON_WITHIN_MS })
    .toMatchObject([{ state: 'NEEDS_REVIEW', reviewCause: 'FOUND_ON_NETWORK' }]);
  for (const decision of ['ADOPT', 'RESUME', 'GIVE_UP'] as const) {
    await expect(decideReview(instance, decision)).rejects.toMatchObject({ code: 'CONFLICT' });
  }
  showTruth();
  for (const decision of ['RESUME', 'GIVE_UP'] as const) {
    await expect(decideReview(instance, decision)).rejects.toMatchObject({ code: 'CONFLICT' });
  }
  await decideReview(instance, 'ADOPT');
  const [adopted] = await db.select().from(settlementDeployments);
  expect(adopted).toMatchObject({ state: 'DEPLOYED', settlementAddress });
  expect(await db.select().from(submissions).where(isDeploy)).toMatchObject([{ txHash: null }]);
  expect((await reconcileAll(instance.dependencies)).findings).toEqual([]);
}
