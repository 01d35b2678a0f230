/**
 * Cancellations: an unpaid session ends without a payout in every state, never both paid and refunded.
 */
import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { manualRampSessions } from '../../../src/db/tables/index.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import type { RampProvider, RampStatus } from '../../../src/ramp/port.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { cancelCashOut } from '../../../src/resolvers/warehouse/offRamp/cancelCashOut.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { prepareCashOutDeposit } from '../../../src/resolvers/wallets/prepareCashOutDeposit.ts';
import { encodeGlobalId } from '../../../src/schema/core/globalIds.ts';
import { withRampFaults, type RampFaultPlan } from '../../support/faults/faultyRamp.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { depositInputOf } from '../../support/wallets/walletCashOuts.ts';
import {
  activeReceipt,
  cashOutInput,
  decideSession,
  depositedCashOut,
  farmer,
  providerSays,
  reaches,
  sessionOf,
  setSilently,
} from '../../support/warehouse.ts';
import { readReviews } from '../../support/histories.ts';
import { depositInUse } from '../../support/depositInUse.ts';

let market: Marketplace;
let network: EmbeddedNetwork;
let platform: Marketplace['app'];
let manual: RampProvider;
let rampFaults: RampFaultPlan = () => null;
let receipt: TokenizedReceipt;

beforeAll(async () => {
  market = await startMarketplace({ withIndexer: false });
  ({ network, app: platform } = market);
  manual = platform.dependencies.ramp;
  receipt = await activeReceipt(platform, { quantityKg: 100_000n });
});
beforeEach(() => {
  platform.dependencies.ramp = withRampFaults(manual, (...call) => rampFaults(...call));
});
afterEach(() => {
  rampFaults = () => null;
});
afterAll(async () => {
  const { findings } = await reconcileAll(platform.dependencies);
  await market.stop();
  expect(findings).toEqual([]);
});

const cancel = (id: string, idempotencyKey: string = randomUUID(), caller = farmer) =>
  cancelCashOut(platform.dependencies, caller, { offRampSessionId: id, idempotencyKey });

const held = () => network.balanceOf(receipt.tokenAddress, network.custodyAddress);

const silently = (sessionId: string, status: RampStatus) =>
  setSilently(platform.dependencies.db, sessionId, status);

/** A session that the provider has opened, but whose answer is lost. */
async function lostOpening() {
  const own = await activeReceipt(platform);
  let isLost = false;
  rampFaults = (method) => {
    if (method !== 'openSession' && method !== 'findSessionByReference') return null;
    const fault = isLost ? 'unreachable' : 'answer-lost';
    if (method === 'openSession') isLost = true;
    return fault;
  };
  const begun = cashOut(platform.dependencies, farmer, cashOutInput(own)).catch((error: unknown) => error);
  await expect
    .poll(async () => platform.dependencies.db.select().from(manualRampSessions))
    .toContainEqual(expect.objectContaining({ reference: (await soon(own)).id }));
  return { session: await sessionOf(platform, own.id), begun };
}

async function soon(own: TokenizedReceipt) {
  await expect.poll(async () => sessionOf(platform, own.id).catch(() => null)).not.toBeNull();
  return sessionOf(platform, own.id);
}

describe('a session with a deposit', () => {
  it('is closed at the provider, and refunded', async () => {
    const before = await held();
    const { id, providerSessionId } = await depositedCashOut(platform, receipt);
    expect(await held()).toBe(before - toBaseUnits(100n));
    await cancel(id);
    expect(await reaches(platform, id, 'REFUNDED')).toMatchObject({
      providerStatus: 'failed',
      resolution: 'REFUND',
      cancelRequestedBy: farmer.subject,
    });
    expect(await held()).toBe(before);
    expect(await depositInUse(network, providerSessionId)).toMatchObject({ status: 'REFUNDED' });
  });

  it('is cancelled once, whatever the key', async () => {
    const { id } = await depositedCashOut(platform, receipt);
    const [first, second, third] = await Promise.all([cancel(id, 'same'), cancel(id, 'same'), cancel(id)]);
    expect([second?.id, third?.id]).toEqual([first?.id, first?.id]);
    await reaches(platform, id, 'REFUNDED');
    expect(await cancel(id, 'same')).toMatchObject({ id, state: 'REFUNDED' });
    const other = await depositedCashOut(platform, receipt);
    await expect(cancel(other.id, 'same')).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
  });

  it('goes on while the provider is paying, and ends as that does', async () => {
    const { id, providerSessionId } = await depositedCashOut(platform, receipt);
    await silently(providerSessionId, 'processing');
    const waiting = { ...platform.dependencies, mutationWaitMs: 0 };
    const answer = await cancelCashOut(waiting, farmer, { offRampSessionId: id, idempotencyKey: 'early' });
    expect(answer).toMatchObject({ state: 'AWAITING_PAYOUT' });
    await expect
      .poll(async () => (await reaches(platform, id, 'AWAITING_PAYOUT')).providerStatus)
      .toBe('processing');
    await providerSays(platform, providerSessionId, 'settled');
    expect(await reaches(platform, id, 'SETTLED')).toMatchObject({ resolution: 'SETTLE' });
  });

  it('is confirmed when the payout was faster, whether that is known already or not', async () => {
    const { id, providerSessionId } = await depositedCashOut(platform, receipt);
    await silently(providerSessionId, 'settled');
    const refusal = await cancel(id).then(
      () => null,
      (error: Error) => error.message,
    );
    expect([null, `The off-ramp session can't be cancelled: the provider says "settled".`]).toContain(
      refusal,
    );
    expect(await reaches(platform, id, 'SETTLED', 'REFUNDED')).toMatchObject({ state: 'SETTLED' });
  });

  it('goes to an operator when it is paid after it was refunded', async () => {
    const { id, providerSessionId } = await depositedCashOut(platform, receipt);
    await cancel(id);
    await reaches(platform, id, 'REFUNDED');
    await providerSays(platform, providerSessionId, 'settled');
    await reaches(platform, id, 'NEEDS_REVIEW');
    const accepted = { offRampSessionId: id, decision: 'ACCEPT', reason: 'the farmer paid it back' } as const;
    const resolved = await decideSession(platform.dependencies, 'operator-1', accepted);
    expect(resolved.state).toBe('REFUNDED');
  });

  it('is never refunded unnoticed while it is paid, in whichever order the two come', async () => {
    const sessions = await Promise.all(Array.from({ length: 6 }, () => depositedCashOut(platform, receipt)));
    await Promise.all(
      sessions.flatMap(({ id, providerSessionId }, i) => [
        i % 2 === 0 ? cancel(id).catch(() => null) : providerSays(platform, providerSessionId, 'settled'),
        i % 2 === 0 ? providerSays(platform, providerSessionId, 'settled') : cancel(id).catch(() => null),
      ]),
    );
    for (const { id, providerSessionId } of sessions) {
      const { state } = await reaches(platform, id, 'SETTLED', 'NEEDS_REVIEW');
      const { status } = (await depositInUse(network, providerSessionId)) ?? {};
      if (state === 'SETTLED') expect(status).toBe('SETTLED');
      else {
        const [review] = await readReviews(platform.dependencies, id);
        expect(review?.flaggedBecause).toContain('settled');
      }
      if (state === 'SETTLED') continue;
      await reaches(platform, id, 'NEEDS_REVIEW');
      await expect
        .poll(async () => (await depositInUse(network, providerSessionId))?.status)
        .toBe('REFUNDED');
      const accepted = { offRampSessionId: id, decision: 'ACCEPT', reason: 'both are known' } as const;
      await decideSession(platform.dependencies, 'operator-1', accepted);
    }
  });
});

describe('a session without a deposit', () => {
  it('whose opening is not known is looked for by its reference, and closed', async () => {
    const { session, begun } = await lostOpening();
    const cancelled = cancel(session.id);
    rampFaults = () => null;
    await cancelled;
    expect(await reaches(platform, session.id, 'CLOSED')).toMatchObject({
      providerStatus: 'failed',
      depositedAt: null,
    });
    expect(await begun).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('cancelled') });
  });

  it('that is paid all the same goes to an operator, and what is owed is deposited when that decides so', async () => {
    const { session, begun } = await lostOpening();
    const [atProvider] = await platform.dependencies.db
      .select()
      .from(manualRampSessions)
      .where(eq(manualRampSessions.reference, session.id));
    await silently(atProvider?.id ?? '', 'settled');
    const cancelled = cancel(session.id);
    rampFaults = () => null;
    await Promise.all([cancelled, begun]);
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    const [review] = await readReviews(platform.dependencies, session.id);
    expect(review?.flaggedBecause).toContain('the session was cancelled');
    const retried = {
      offRampSessionId: session.id,
      decision: 'RETRY',
      reason: 'the farmer keeps it',
    } as const;
    await decideSession(platform.dependencies, 'operator-1', retried);
    await reaches(platform, session.id, 'SETTLED');
  });

  it('that a holder was to sign is closed; what the holder sends all the same is given back', async () => {
    const holder = createEmbeddedHolder();
    const own = await activeReceipt(platform, { farmerAddress: holder.address });
    const input = depositInputOf(own, holder);
    const { session, act } = await prepareCashOutDeposit(platform.dependencies, farmer, input);
    if (act === null) throw new Error('nothing is to be signed');
    expect(session.state).toBe('AWAITING_SIGNATURE');
    await cancel(session.id);
    expect(await reaches(platform, session.id, 'CLOSED')).toMatchObject({ providerStatus: 'failed' });
    const signed = await network.openSigned(act.call, act.unsigned, await holder.sign(act.unsigned));
    await network.broadcast(signed.signedBytes);
    await expect
      .poll(async () => (await depositInUse(network, session.providerSessionId))?.status)
      .toBe('PENDING');
    // A request for the session makes the platform look at it.
    await expect(prepareCashOutDeposit(platform.dependencies, farmer, input)).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    await reaches(platform, session.id, 'REFUNDED');
    expect(await network.balanceOf(own.tokenAddress, holder.address)).toBe(toBaseUnits(1000n));
  });
});

describe('over the API', () => {
  const MUTATION = `mutation ($input: CancelCashOutInput!) {
    cancelCashOut(input: $input) { offRampSession { id state sessionId cancelRequestedAt stateReason } } }`;
  const asFarmer = { role: 'farmer', subject: farmer.subject } as const;
  const send = (id: string, caller: Parameters<Marketplace['send']>[2] = asFarmer) =>
    market.send<{
      cancelCashOut: { offRampSession: { state: string; sessionId: string; cancelRequestedAt: number } };
    }>(
      MUTATION,
      { input: { offRampSessionId: encodeGlobalId('OffRampSession', id), idempotencyKey: randomUUID() } },
      caller,
    );

  it('answers with the session, which goes on by itself', async () => {
    const { id, providerSessionId } = await depositedCashOut(platform, receipt);
    const answer = await send(id);
    expect(answer.errors).toEqual([]);
    expect(answer.data?.cancelCashOut.offRampSession).toMatchObject({
      sessionId: providerSessionId,
      cancelRequestedAt: expect.any(Number),
    });
    await reaches(platform, id, 'REFUNDED');
  });

  it('refuses what is not the farmer’s, unknown, paid or ended', async () => {
    const { id, providerSessionId } = await depositedCashOut(platform, receipt);
    const codeOf = async (answer: ReturnType<typeof send>) => (await answer).errors[0]?.extensions?.['code'];
    expect(await codeOf(send(id, { role: 'farmer', subject: 'another' }))).toBe('NOT_FOUND');
    expect(await codeOf(send(randomUUID()))).toBe('NOT_FOUND');
    await providerSays(platform, providerSessionId, 'settled');
    await reaches(platform, id, 'SETTLED');
    expect(await codeOf(send(id))).toBe('CONFLICT');
    expect(await codeOf(send(id, { role: 'operator', subject: 'op' }))).toBe('CONFLICT');
  });
});
