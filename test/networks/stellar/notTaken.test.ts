/**
 * A Stellar node that accepts no transactions for a long time: an operator sees the reason while it lasts,
 * and when a call that was signed many times ends under review.
 */
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { retirements, submissions } from '../../../src/db/tables/index.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { startStellarWorld, type StellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { decideSubmission } from '../../support/decisions.ts';
import { holding, retirement } from '../../support/holding.ts';
import { platformOn } from '../../support/platform.ts';

/**
 * Signed bytes live for some hundred milliseconds of real time, so that twenty attempts die within seconds.
 */
const VALIDITY_SECONDS = 10;
/** Only a hang takes this long. */
const PATIENCE_MS = 100_000;
const NOT_TAKEN =
  'The node does not take it: The node asks to try again later: its queue is full, or it dropped or applied the transaction lately';

let world: StellarWorld;
let database: TestDatabase;
let platform: Platform;
beforeAll(async () => {
  world = await startStellarWorld({ channels: 1 });
  database = await createTestDatabase();
  const network = await world.testbed.open({ validitySeconds: VALIDITY_SECONDS });
  platform = await platformOn(database.handle, network, { mutationWaitMs: PATIENCE_MS });
  await platform.start();
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
  await world.close();
});

async function read() {
  const [found] = await database.handle.db.select().from(submissions).where(eq(submissions.kind, 'retire'));
  return found;
}

it('is named while it lasts, and in the review that follows', { timeout: 3 * PATIENCE_MS }, async () => {
  const { dependencies } = platform;
  const { faults } = world.testbed.devnet.controls;
  const tokenAddress = await holding(platform, 10n);
  faults.tryAgainLater = Number.MAX_SAFE_INTEGER;
  await retire({ ...dependencies, mutationWaitMs: 0 }, 'acme', retirement(tokenAddress, 1n));
  await expect
    .poll(read, { timeout: PATIENCE_MS })
    .toMatchObject({ state: 'PENDING', stateReason: NOT_TAKEN });
  await expect.poll(read, { timeout: PATIENCE_MS }).toMatchObject({
    state: 'NEEDS_REVIEW',
    reviewCause: 'ATTEMPTS_DIED',
    stateReason: `20 signed attempts died without landing. ${NOT_TAKEN}`,
  });
  // The buyer sees no more of the node's reasons than this.
  expect(await database.handle.db.select().from(retirements)).toMatchObject([
    { state: 'NEEDS_REVIEW', stateReason: '20 signed attempts died without landing' },
  ]);

  faults.tryAgainLater = 0;
  const submissionId = (await read())?.id ?? '';
  await decideSubmission(dependencies, 'operator', {
    submissionId,
    decision: 'RESUME',
    recordIndex: undefined,
    reason: 'the node is well again',
  });
  await expect.poll(read, { timeout: PATIENCE_MS }).toMatchObject({ state: 'SUCCEEDED', stateReason: null });
  expect((await dependencies.network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
  expect((await reconcileAll(dependencies)).findings).toEqual([]);
});
