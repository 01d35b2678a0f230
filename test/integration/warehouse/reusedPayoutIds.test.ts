/**
 * A provider restored from an old copy has lost its newest payouts and reuses their ids: the new payouts'
 * ends move no tokens of the cash-outs that had the ids before.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RAMP_API_KEY, startRampServer, type RampServer } from '../../../devnet/rampServer.ts';
import type { RampStatus } from '../../../src/ramp/port.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { cancelCashOut } from '../../../src/resolvers/warehouse/offRamp/cancelCashOut.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { decideReviewOf, depositedCashOut, farmer, makeDue, reaches } from '../../support/warehouse.ts';
import { readReviews } from '../../support/histories.ts';

let database: TestDatabase;
let provider: RampServer;
let platform: Platform;

beforeAll(async () => {
  database = await createTestDatabase();
  provider = await startRampServer();
  platform = await platformOn(database.handle, await embeddedNetworkOn(database.handle), {
    ramp: {
      kind: 'http',
      name: 'ramp',
      url: provider.url,
      apiKey: RAMP_API_KEY,
      callbackSecrets: [],
      requestsPerSecond: 1000,
    },
  });
  await platform.start();
});
afterAll(async () => {
  await platform.stop();
  await provider.close();
  await database.drop();
});

/** A deposited cash-out whose id the provider has since given to another payout. */
async function replaced(status: RampStatus): Promise<string> {
  const { id, providerSessionId } = await depositedCashOut(platform);
  provider.payouts.set(providerSessionId, {
    id: providerSessionId,
    clientReference: randomUUID(),
    status,
    request: {},
  });
  return id;
}

/** Ages the session by minutes, after which an operator decides. */
async function growOld(id: string): Promise<void> {
  await changePastRules(
    database,
    sql`UPDATE off_ramp_sessions SET created_at = created_at - interval '10 minutes' WHERE id = ${id}`,
  );
  await makeDue(platform, id);
}

it.each(['pending', 'settled', 'failed', 'refunded'] as const)(
  'asks an operator, whatever the provider says of the other one: %s',
  async (status) => {
    const id = await replaced(status);
    await growOld(id);
    expect(await reaches(platform, id, 'NEEDS_REVIEW')).toMatchObject({
      resolution: null,
      providerStatus: 'pending',
    });
    const [review] = await readReviews(platform.dependencies, id);
    expect(review?.flaggedBecause).toContain('another payout');
    // The provider can't say anything else, so only the operator decides.
    await decideReviewOf(platform, id, 'REFUND');
    await reaches(platform, id, 'REFUNDED');
  },
);

it('takes no cancellation of the other one for its own', async () => {
  const id = await replaced('pending');
  const input = { offRampSessionId: id, idempotencyKey: randomUUID() };
  const cancelled = cancelCashOut(platform.dependencies, farmer, input);
  const requested = async () => (await findOffRampSession(platform.dependencies, id))?.cancelRequestedAt;
  await expect.poll(requested).toBeInstanceOf(Date);
  await growOld(id);
  expect(await reaches(platform, id, 'NEEDS_REVIEW')).toMatchObject({ resolution: null });
  await cancelled;
});
