/**
 * A retirement whose fee is too low for a ledger: custody pays more for the same transaction, which keeps its
 * hash, whatever the node says of it while it lands.
 */
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { attempts, retirements, submissions } from '../../../src/db/tables/index.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { startStellarWorld, type StellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { holding, retirement } from '../../support/holding.ts';
import { platformOn } from '../../support/platform.ts';
import { othersPay } from '../../support/stellar/othersPay.ts';

/** Only a hang takes this long. */
const PATIENCE_MS = 50_000;

let world: StellarWorld;
let database: TestDatabase;
let platform: Platform;
beforeAll(async () => {
  // As in a network: five seconds a ledger, and the node drops a transaction after four ledgers.
  world = await startStellarWorld({ channels: 1, devnet: { closeSeconds: 5, closeEveryMs: 125 } });
  database = await createTestDatabase();
  platform = await platformOn(database.handle, world.testbed.network, { mutationWaitMs: PATIENCE_MS });
  await platform.start();
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
  await world.close();
});

it('lands in a dearer envelope, and has one hash everywhere', { timeout: 2 * PATIENCE_MS }, async () => {
  const { db } = database.handle;
  const { controls } = world.testbed.devnet;
  const tokenAddress = await holding(platform, 10n);
  controls.hold();
  await retire({ ...platform.dependencies, mutationWaitMs: 0 }, 'acme', retirement(tokenAddress, 1n));
  await expect.poll(() => controls.waiting(), { timeout: PATIENCE_MS }).toHaveLength(1);
  const [own = ''] = controls.waiting();
  const { sequence } = controls.latest();
  await othersPay(world.testbed, 900);
  // Two of the four ledgers are left. In stellar-core the higher bid takes over the age of what it replaces.
  expect(controls.latest().sequence).toBe(sequence + 2);
  await expect.poll(() => controls.waiting(), { timeout: PATIENCE_MS }).not.toEqual([own]);
  expect(controls.waiting()).toHaveLength(1);

  // The first question is answered as before the landing.
  controls.faults.denyTransactions = 1;
  controls.closeLedger();
  const read = () => db.select().from(retirements);
  await expect.poll(read, { timeout: PATIENCE_MS }).toMatchObject([{ state: 'RETIRED' }]);
  expect(controls.faults.denyTransactions).toBe(0);
  expect(await read()).toMatchObject([{ txHash: own }]);
  const { network } = platform.dependencies;
  const { records } = await network.retirementRecords(tokenAddress, 0, 1);
  const wanted = records.map((record) => ({ ...record, hints: [] }));
  expect(await network.retirementTransactions(tokenAddress, wanted)).toEqual(new Map([[0, own]]));
  const ofRetirement = db
    .select({ hash: attempts.hash, state: attempts.state })
    .from(attempts)
    .innerJoin(submissions, eq(submissions.id, attempts.submissionId))
    .where(eq(submissions.kind, 'retire'));
  expect(await ofRetirement).toEqual([{ hash: own, state: 'LANDED' }]);
  expect((await reconcileAll(platform.dependencies)).findings).toEqual([]);
});
