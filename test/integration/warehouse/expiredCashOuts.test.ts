/**
 * Receipts that expire during a cash-out over HTTP, with approvals by a second person: tokens for a paid
 * payout are still deposited.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startRampServer, RAMP_API_KEY, type RampServer } from '../../../devnet/rampServer.ts';
import { findRun, requestRun } from '../../../src/jobs/expiryRuns.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { findReceiptById, type TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { STORAGE_SECONDS } from '../../../src/resolvers/warehouse/createDeposit.ts';
import { prepareCashOutDeposit } from '../../../src/resolvers/wallets/prepareCashOutDeposit.ts';
import { encodeGlobalId } from '../../../src/schema/core/globalIds.ts';
import { payloadOf } from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { depositInputOf, prepareDeposit } from '../../support/wallets/walletCashOuts.ts';
import { signAndSubmit } from '../../support/wallets/walletWorld.ts';
import { activeReceipt, farmer, makeDue, reaches } from '../../support/warehouse.ts';

const first: TestCaller = { role: 'operator', subject: 'first' };
const second: TestCaller = { role: 'operator', subject: 'second' };
const holder = createEmbeddedHolder();

let ramp: RampServer;
let market: Marketplace;
beforeAll(async () => {
  ramp = await startRampServer();
  const limits = { aboveTonnes: 1_000n, aboveKilograms: 5_000n, lifetimeSeconds: 3600 };
  market = await startMarketplace({
    withIndexer: false,
    ramp: {
      kind: 'http',
      name: 'ramp',
      url: ramp.url,
      apiKey: RAMP_API_KEY,
      callbackSecrets: [],
      requestsPerSecond: 1000,
    },
    approvalPolicy: { isRequired: true, ...limits },
  });
});
afterAll(async () => {
  const { findings } = await reconcileAll(market.app.dependencies);
  await market.stop();
  await ramp.close();
  expect(findings).toEqual([]);
});

const world = () => ({ platform: market.app, network: market.network });

async function expire({ id }: TokenizedReceipt): Promise<void> {
  const { dependencies } = market.app;
  await market.network.advanceClock(Number(STORAGE_SECONDS) + 1);
  const run = await requestRun(dependencies, { trigger: 'MANUAL', night: null, requestedBy: 'a test' });
  const isOver = async () => (await findRun(dependencies, run?.id ?? ''))?.endedAt;
  await expect.poll(isOver, { timeout: 30_000 }).toBeInstanceOf(Date);
  expect(await findReceiptById(dependencies, id)).toMatchObject({ state: 'EXPIRED' });
}

/** One operator asks for the RETRY, another one approves. */
async function retry(offRampSessionId: string): Promise<void> {
  const id = encodeGlobalId('OffRampSession', offRampSessionId);
  const seen = await market.send<{ offRampSession: { reviewVersion: string } }>(
    'query ($id: ID!) { offRampSession(id: $id) { reviewVersion } }',
    { id },
    first,
  );
  const { reviewVersion } = payloadOf(seen);
  const input = { offRampSessionId: id, decision: 'RETRY', reviewVersion, reason: 'called the farmer' };
  const asked = payloadOf(
    await market.send<{ resolveOffRampSessionReview: { approvalRequest: { id: string } } }>(
      `mutation ($input: ResolveOffRampSessionReviewInput!) {
        resolveOffRampSessionReview(input: $input) { approvalRequest { id } } }`,
      { input },
      first,
    ),
  );
  const granted = await market.send(
    'mutation ($id: ID!) { grantApproval(input: { approvalRequestId: $id }) { approvalRequest { state } } }',
    { id: asked.approvalRequest.id },
    second,
  );
  expect(payloadOf(granted)).toMatchObject({ approvalRequest: { state: 'APPROVED' } });
}

it('a holder who was paid before the deposit signs it after the expiry, once an operator says so', async () => {
  const receipt = await activeReceipt(market.app, { farmerAddress: holder.address });
  const input = depositInputOf(receipt, holder, { idempotencyKey: randomUUID() });
  const { session, act } = await prepareDeposit(world(), holder, input);
  const payout = ramp.payouts.get(session.providerSessionId ?? '');
  if (payout) payout.status = 'settled';
  await makeDue(market.app, session.id);
  await reaches(market.app, session.id, 'NEEDS_REVIEW');
  await expire(receipt);

  await retry(session.id);
  await reaches(market.app, session.id, 'AWAITING_SIGNATURE');
  // The first act can't land any more.
  const anew = await prepareCashOutDeposit(market.app.dependencies, farmer, input);
  expect(anew.session.id).toBe(session.id);
  expect(anew.act?.id).not.toBe(act.id);
  if (anew.act) await signAndSubmit(world(), holder, anew.act);
  await reaches(market.app, session.id, 'SETTLED');
});

it('a holder who was not paid has nothing more to sign after the expiry', async () => {
  const receipt = await activeReceipt(market.app, { farmerAddress: holder.address });
  const input = depositInputOf(receipt, holder);
  await prepareDeposit(world(), holder, input);
  await expire(receipt);
  await expect(prepareCashOutDeposit(market.app.dependencies, farmer, input)).rejects.toMatchObject({
    code: 'RECEIPT_EXPIRED',
  });
});
