/**
 * Payouts: each row of the specification's state tables, and webhooks that come twice, late, early, forged or
 * never. Every session gets one resolution, the right one.
 */
import { randomUUID } from 'node:crypto';
import { and, eq } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  collectChanges,
  makeExcerpt,
  readSnapshot,
  type Snapshot,
} from '../../../src/reconciliation/excerpt.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { submissions } from '../../../src/db/tables/index.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import type { Intent } from '../../../src/ledger/submission/effects.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import type { RampProvider, RampStatus } from '../../../src/ramp/port.ts';
import {
  findOffRampSession,
  type OffRampSession,
} from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { readTransactions } from '../../../src/resolvers/carbon/findRetirement.ts';
import {
  resolveOffRampSessionReview,
  type OffRampSessionReviewDecision,
} from '../../../src/resolvers/operations/resolveOffRampSessionReview.ts';
import {
  hasManualStatus,
  setManualSessionStatus,
} from '../../../src/resolvers/operations/setManualSessionStatus.ts';
import { noteHint } from '../../../src/resolvers/warehouse/offRamp/receivePayoutHint.ts';
import { releaseEffects } from '../../../src/resolvers/warehouse/offRamp/offRampEffects.ts';
import { cancelCashOut } from '../../../src/resolvers/warehouse/offRamp/cancelCashOut.ts';
import { stepOffRampSession } from '../../../src/resolvers/warehouse/offRamp/stepOffRampSession.ts';
import { createPayoutHook } from '../../../src/webhooks/payoutSettled.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { landOutside } from '../../support/burnOutside.ts';
import { withFaults, type FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { withRampFaults, type FaultyRamp, type RampFaultPlan } from '../../support/faults/faultyRamp.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import {
  activeReceipt,
  decideSession,
  depositedCashOut,
  farmer,
  providerSays,
  reaches,
  setSilently,
} from '../../support/warehouse.ts';
import { readProviderStatuses, readReviews } from '../../support/histories.ts';
import { depositInUse } from '../../support/depositInUse.ts';

let marketplace: Marketplace;
let network: EmbeddedNetwork;
let platform: Pick<Marketplace['app'], 'dependencies'>;
let manual: RampProvider;
let ramp: FaultyRamp;
let faults: FaultPlan = () => null;
let rampFaults: RampFaultPlan = () => null;

beforeAll(async () => {
  marketplace = await startMarketplace({
    withIndexer: false,
    wrapNetwork: (inner) => withFaults(inner, (...call) => faults(...call)),
  });
  ({ network, app: platform } = marketplace);
  manual = platform.dependencies.ramp;
});
beforeEach(() => {
  ramp = withRampFaults(manual, (...call) => rampFaults(...call));
  platform.dependencies.ramp = ramp;
});
afterEach(() => {
  faults = () => null;
  rampFaults = () => null;
});
afterAll(async () => {
  const report = await reconcileAll(platform.dependencies);
  await marketplace.stop();
  expect(report.findings).toEqual([]);
});

const silently = (sessionId: string, status: RampStatus) =>
  setSilently(platform.dependencies.db, sessionId, status);

async function webhook(body: string): Promise<{ status: number; body: string }> {
  const response = await fetch(new URL('/api/webhooks/payout-settled', marketplace.url), {
    method: 'POST',
    body,
  });
  return { status: response.status, body: await response.text() };
}

const hint = (sessionId: string) => webhook(JSON.stringify({ sessionId }));

const CHANGED = { code: 'CONFLICT', details: { field: 'input.reviewVersion' } };

const statusOnNetwork = async (sessionId: string) => (await depositInUse(network, sessionId))?.status;

async function resolutionsOf(offRampSessionId: string): Promise<string[]> {
  const rows = await platform.dependencies.db
    .select({ kind: submissions.kind })
    .from(submissions)
    .where(eq(submissions.targetId, offRampSessionId));
  return rows.map(({ kind }) => kind).filter((kind) => kind !== 'depositOffRamp');
}

async function isRefundSigned(offRampSessionId: string): Promise<boolean> {
  const rows = await marketplace.database.handle.sql`
    SELECT 1 FROM attempts a JOIN submissions s ON s.id = a.submission_id
    WHERE s.target_id = ${offRampSessionId} AND s.kind = 'refundOffRamp'`;
  return rows.length > 0;
}

const review = (offRampSessionId: string, decision: OffRampSessionReviewDecision) =>
  decideSession(platform.dependencies, 'operator-1', {
    offRampSessionId,
    decision,
    reason: 'called the provider',
  });

describe('the provider’s status decides', () => {
  it('SETTLED: releases the tokens to the treasury, as soon as an operator says so', async () => {
    const receipt = await activeReceipt(platform, { farmerAddress: network.custodyAddress });
    const session = await depositedCashOut(platform, receipt);
    const status = { sessionId: session.providerSessionId, status: 'settled' } as const;
    await setManualSessionStatus(platform.dependencies, 'operator-1', status);
    const settled = await reaches(platform, session.id, 'SETTLED');
    expect(settled).toMatchObject({ resolution: 'SETTLE', providerStatus: 'settled' });
    expect(await statusOnNetwork(session.providerSessionId)).toBe('SETTLED');
    const history = await readTransactions(platform.dependencies, [session.id]);
    expect(history.get(session.id)?.map(({ kind, state, txHash }) => [kind, state, txHash])).toEqual([
      ['depositOffRamp', 'LANDED', settled.depositTxHash],
      ['confirmOffRampSettlement', 'LANDED', settled.resolutionTxHash],
    ]);
    const statuses = await readProviderStatuses(platform.dependencies, session.id);
    expect(statuses.map((seen) => seen.status)).toEqual(['pending', 'settled']);
  });

  it('FAILED: refunds the tokens to the depositor', async () => {
    const receipt = await activeReceipt(platform);
    const session = await depositedCashOut(platform, receipt);
    const { custodyAddress } = network;
    expect(await network.balanceOf(receipt.tokenAddress, custodyAddress)).toBe(toBaseUnits(900n));
    await providerSays(platform, session.providerSessionId, 'failed');
    expect(await reaches(platform, session.id, 'REFUNDED')).toMatchObject({ resolution: 'REFUND' });
    expect(await network.balanceOf(receipt.tokenAddress, custodyAddress)).toBe(toBaseUnits(1000n));
  });

  it('any other status: does nothing', async () => {
    const session = await depositedCashOut(platform);
    await providerSays(platform, session.providerSessionId, 'processing');
    await expect
      .poll(async () => (await findOffRampSession(platform.dependencies, session.id))?.providerStatus)
      .toBe('processing');
    expect(await resolutionsOf(session.id)).toEqual([]);
    expect(await statusOnNetwork(session.providerSessionId)).toBe('PENDING');
  });

  it('refunded by the provider: an operator decides, once', async () => {
    const session = await depositedCashOut(platform);
    await providerSays(platform, session.providerSessionId, 'refunded');
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    expect(await resolutionsOf(session.id)).toEqual([]);
    await expect(review(session.id, 'ACCEPT')).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { field: 'input.decision' },
    });
    await review(session.id, 'REFUND');
    await expect(review(session.id, 'CONFIRM')).rejects.toMatchObject({ code: 'CONFLICT' });
    await reaches(platform, session.id, 'REFUNDED');
    expect(await statusOnNetwork(session.providerSessionId)).toBe('REFUNDED');
    const reviews = await readReviews(platform.dependencies, session.id);
    expect(reviews.map(({ decision, decidedBy }) => [decision, decidedBy])).toEqual([
      ['REFUND', 'operator-1'],
    ]);
  });

  it('is not decided on what the provider said before', async () => {
    const session = await depositedCashOut(platform);
    await providerSays(platform, session.providerSessionId, 'refunded');
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    const sayAndRead = async (status: 'settled' | 'failed') => {
      await providerSays(platform, session.providerSessionId, status);
      const read = () => findOffRampSession(platform.dependencies, session.id);
      await expect.poll(async () => (await read())?.providerStatus).toBe(status);
      return (await read())?.reviewVersion ?? '';
    };
    const reviewVersion = await sayAndRead('failed');
    const offRampSessionId = session.id;
    const refund = { offRampSessionId, decision: 'REFUND', reviewVersion, reason: 'not paid' } as const;
    // The same status again, after another one, is not what the operator saw.
    for (const status of ['settled', 'failed'] as const) {
      expect(await sayAndRead(status)).not.toBe(reviewVersion);
      await expect(
        resolveOffRampSessionReview(platform.dependencies, 'operator-1', refund),
      ).rejects.toMatchObject(CHANGED);
    }
    expect(await resolutionsOf(session.id)).toEqual([]);
    await review(session.id, 'REFUND');
    await reaches(platform, session.id, 'REFUNDED');
  });

  it('is not decided on what the provider says no more, though its webhook was lost', async () => {
    const session = await depositedCashOut(platform);
    await providerSays(platform, session.providerSessionId, 'refunded');
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    await silently(session.providerSessionId, 'settled');
    await expect(review(session.id, 'REFUND')).rejects.toMatchObject(CHANGED);
    expect(await statusOnNetwork(session.providerSessionId)).toBe('PENDING');
    await review(session.id, 'CONFIRM');
    await reaches(platform, session.id, 'SETTLED');
  });
});

describe('webhooks', () => {
  it('answers 200 with an empty body, whatever is sent, and calls the provider for none of it', async () => {
    const guess = `manual_${'A'.repeat(32)}`;
    const forged = [
      '',
      'not json',
      '[]',
      'null',
      '{"sessionId":5}',
      '{"__proto__":{"sessionId":"x"}}',
      JSON.stringify({ sessionId: 'x'.repeat(5000) }),
      JSON.stringify({ sessionId: guess }),
      JSON.stringify({ sessionId: "' OR 1=1 --" }),
    ];
    for (const body of forged) expect(await webhook(body)).toEqual({ status: 200, body: '' });
    const hook = createPayoutHook(platform.dependencies);
    const delivery = { headers: {}, requestId: 'r', remoteAddress: '127.0.0.1' };
    for (const body of forged) {
      const refusal = await hook({ ...delivery, body: Buffer.from(body) });
      // Each counts against the address that it came from.
      expect(refusal, body).toMatch(/^(not-a-callback|unknown-session)$/);
    }
    for (const id of [guess, 'x', "' OR 1=1 --"]) expect(ramp.looksAt(id)).toBe(0);
  });

  it('does not believe a forged one: the provider is asked, and says otherwise', async () => {
    const session = await depositedCashOut(platform);
    const looks = ramp.looksAt(session.providerSessionId);
    await webhook(JSON.stringify({ sessionId: session.providerSessionId, status: 'SETTLED' }));
    await expect.poll(() => ramp.looksAt(session.providerSessionId)).toBeGreaterThan(looks);
    expect(await resolutionsOf(session.id)).toEqual([]);
  });

  it('is made up for by polling when it never comes', async () => {
    const session = await depositedCashOut(platform);
    await silently(session.providerSessionId, 'settled');
    expect(await reaches(platform, session.id, 'SETTLED')).toMatchObject({ hints: 0 });
  });

  /** A session whose deposit goes no further than to this question of the network. */
  async function depositing(
    until: 'draft' | 'outcome',
  ): Promise<OffRampSession & { providerSessionId: string }> {
    const receipt = await activeReceipt(platform);
    faults = (method) => (method === until ? 'unreachable' : null);
    const impatient = {
      dependencies: { ...platform.dependencies, mutationWaitMs: 300 },
    };
    const early = await depositedCashOut(impatient, receipt).catch((error: Error) => error.message);
    expect(early).toMatch(/^the cash-out is (OPENING|DEPOSITING)$/);
    const [row] = await marketplace.database.handle.sql<{ id: string }[]>`
      SELECT id FROM off_ramp_sessions WHERE receipt_id = ${receipt.id}`;
    const { id = '' } = row ?? {};
    const session = await reaches(platform, id, 'DEPOSITING');
    return { ...session, providerSessionId: session.providerSessionId ?? '' };
  }

  async function isSeen(
    { id, providerSessionId }: Awaited<ReturnType<typeof depositing>>,
    status: RampStatus,
  ) {
    await silently(providerSessionId, status);
    await hint(providerSessionId);
    await expect
      .poll(async () => (await findOffRampSession(platform.dependencies, id))?.providerStatus)
      .toBe(status);
  }

  it('is remembered when it comes before the deposit is final', async () => {
    const session = await depositing('outcome');
    const { id } = session;
    await isSeen(session, 'failed');
    expect(await findOffRampSession(platform.dependencies, id)).toMatchObject({ state: 'DEPOSITING' });
    faults = () => null;
    await reaches(platform, id, 'REFUNDED');
  });

  it('is left to an operator when it was SETTLED, then FAILED, before the deposit is final', async () => {
    const session = await depositing('outcome');
    const { id } = session;
    await isSeen(session, 'settled');
    await isSeen(session, 'failed');
    faults = () => null;
    await reaches(platform, id, 'NEEDS_REVIEW', 'REFUNDED');
    expect(await readReviews(platform.dependencies, id)).toMatchObject([
      { flaggedBecause: expect.stringContaining('"failed" after it said "settled"') as string },
    ]);
    await review(id, 'RETRY');
    await reaches(platform, id, 'REFUNDED');
  });

  it('is left to an operator when it was SETTLED, FAILED and SETTLED before the deposit is final', async () => {
    const session = await depositing('outcome');
    const { id } = session;
    for (const status of ['settled', 'failed', 'settled'] as const) await isSeen(session, status);
    faults = () => null;
    await reaches(platform, id, 'NEEDS_REVIEW', 'SETTLED');
    expect(await readReviews(platform.dependencies, id)).toMatchObject([
      { flaggedBecause: 'the provider says "settled" after it took a payout back' },
    ]);
    await review(id, 'RETRY');
    await reaches(platform, id, 'SETTLED');
  });

  it('is left to an operator when it becomes SETTLED while the refund is being settled', async () => {
    const { id, providerSessionId } = await depositedCashOut(platform);
    faults = (method) => (method === 'outcome' ? 'unreachable' : null);
    await providerSays(platform, providerSessionId, 'failed');
    await reaches(platform, id, 'REFUNDING');
    await platform.dependencies.db.transaction(async (tx) => {
      await noteHint(tx, manual.name, providerSessionId);
      await setSilently(tx, providerSessionId, 'settled');
      faults = () => null;
      // The refund has the next turn, before any poll.
      await expect
        .poll(() => hasLockWait(marketplace.database.handle), { timeout: 15_000, interval: 20 })
        .toBe(true);
    });
    await reaches(platform, id, 'NEEDS_REVIEW');
    await review(id, 'ACCEPT');
  });

  it('is left to an operator when it was FAILED, SETTLED and FAILED before the refund has landed', async () => {
    const session = await depositedCashOut(platform);
    const { id } = session;
    faults = (method) => (method === 'outcome' ? 'unreachable' : null);
    await isSeen(session, 'failed');
    await reaches(platform, id, 'REFUNDING');
    // A status that comes before the refund is signed prevents it.
    await expect.poll(() => isRefundSigned(id)).toBe(true);
    for (const status of ['settled', 'failed'] as const) await isSeen(session, status);
    faults = () => null;
    await reaches(platform, id, 'NEEDS_REVIEW', 'REFUNDED');
    expect(await readReviews(platform.dependencies, id)).toMatchObject([
      { flaggedBecause: 'the provider says "failed" after it said "settled"' },
    ]);
    await review(id, 'ACCEPT');
    await reaches(platform, id, 'REFUNDED');
  });

  it.each([
    ['CONFIRM', 'failed', 'settled', 'SETTLED'],
    ['REFUND', 'settled', 'failed', 'REFUNDED'],
  ] as const)('is not asked about again after %s when the provider says the same', async (...row) => {
    const [decision, before, after, state] = row;
    const session = await depositedCashOut(platform);
    const { id } = session;
    faults = (method) => (method === 'outcome' ? 'unreachable' : null);
    await isSeen(session, 'refunded');
    await reaches(platform, id, 'NEEDS_REVIEW');
    for (const status of ['settled', 'failed', before] as const) await isSeen(session, status);
    await review(id, decision);
    await isSeen(session, after);
    faults = () => null;
    await reaches(platform, id, state);
    expect(await resolutionsOf(id)).toHaveLength(1);
  });

  it('is not asked about again when the provider says the same while the release waits to be signed', async () => {
    const session = await depositedCashOut(platform);
    const { id } = session;
    faults = (method) => (method === 'draft' ? 'unreachable' : null);
    await isSeen(session, 'refunded');
    await reaches(platform, id, 'NEEDS_REVIEW');
    for (const status of ['settled', 'failed'] as const) await isSeen(session, status);
    await review(id, 'CONFIRM');
    const { db, submission, stateSignal } = platform.dependencies;
    const { clock, ids } = submission;
    const settlementContract = async () => {
      await isSeen(session, 'settled');
      return network.settlementContract();
    };
    const deps = { db, network: { ...network, settlementContract }, stateSignal, clock, ids };
    const effects = releaseEffects(deps, 'SETTLED');
    expect(await effects.reasonForReview?.({ targetId: id } as Intent)).toBeNull();
    faults = () => null;
    await reaches(platform, id, 'SETTLED');
  });

  it('is left to an operator when it was SETTLED, then FAILED, and the deposit is refused', async () => {
    const session = await depositing('draft');
    const { id } = session;
    await isSeen(session, 'settled');
    await isSeen(session, 'failed');
    faults = (method) => (method === 'draft' ? 'refused' : null);
    await reaches(platform, id, 'NEEDS_REVIEW', 'CLOSED');
    faults = () => null;
    expect(await findOffRampSession(platform.dependencies, id)).toMatchObject({ state: 'NEEDS_REVIEW' });
    await review(id, 'RETRY');
    await reaches(platform, id, 'CLOSED');
  });

  it('comes after the end: custody deposits what is owed, and the session is open again', async () => {
    const session = await depositing('draft');
    const { id } = session;
    faults = (method) => (method === 'draft' ? 'refused' : null);
    await reaches(platform, id, 'CLOSED');
    await isSeen(session, 'settled');
    await reaches(platform, id, 'NEEDS_REVIEW');
    faults = (method) => (method === 'draft' ? 'unreachable' : null);
    expect(await review(id, 'RETRY')).toMatchObject({ state: 'DEPOSITING', endedAt: null });
    faults = () => null;
    await reaches(platform, id, 'SETTLED');
  });

  it('comes late to a session that is over, and changes nothing', async () => {
    const session = await depositedCashOut(platform);
    await providerSays(platform, session.providerSessionId, 'settled');
    const settled = await reaches(platform, session.id, 'SETTLED');
    const looks = ramp.looksAt(session.providerSessionId);
    await hint(session.providerSessionId);
    await expect.poll(() => ramp.looksAt(session.providerSessionId)).toBeGreaterThan(looks);
    expect(await findOffRampSession(platform.dependencies, session.id)).toMatchObject({
      state: 'SETTLED',
      resolutionTxHash: settled.resolutionTxHash,
    });
  });

  it('ends in one resolution of each session, of a hundred duplicated and shuffled ones', async () => {
    const receipt = await activeReceipt(platform);
    const sessions: OffRampSession[] = [];
    for (let i = 0; i < 5; i++) sessions.push(await depositedCashOut(platform, receipt));
    const wanted = ['settled', 'failed', 'settled', 'failed', 'settled'] as const;
    for (const [i, session] of sessions.entries()) {
      await silently(session.providerSessionId ?? '', wanted[i] ?? 'settled');
    }
    const deliveries = Array.from({ length: 100 }, (_, i) => sessions[(i * 37) % 5]?.providerSessionId ?? '');
    const answers = await Promise.all(deliveries.map(hint));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    for (const [i, session] of sessions.entries()) {
      const state = wanted[i] === 'settled' ? 'SETTLED' : 'REFUNDED';
      await reaches(platform, session.id, state);
      expect(await statusOnNetwork(session.providerSessionId ?? '')).toBe(state);
      expect(await resolutionsOf(session.id)).toHaveLength(1);
    }
  });
});

describe('confirm and refund', () => {
  it('race, and one is decided under the row lock', async () => {
    const session = await depositedCashOut(platform);
    const { dependencies } = platform;
    const saying = (status: RampStatus) => ({
      ...dependencies,
      ramp: { ...ramp, getStatus: async () => ({ status }) },
    });
    await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        stepOffRampSession(saying(i % 2 === 0 ? 'settled' : 'failed'), session),
      ),
    );
    const resolutions = await resolutionsOf(session.id);
    expect(resolutions).toHaveLength(1);
    // The provider contradicted itself before the release was signed or landed, which an operator is shown.
    const over = await reaches(platform, session.id, 'SETTLED', 'REFUNDED', 'NEEDS_REVIEW');
    const resolution = resolutions[0] === 'refundOffRamp' ? 'REFUND' : 'SETTLE';
    expect(over.resolution).toBe(resolution);
    // The real provider has reported neither status so far.
    const said = resolution === 'SETTLE' ? 'settled' : 'failed';
    await providerSays(platform, session.providerSessionId, said);
    const now = () => findOffRampSession(platform.dependencies, session.id);
    await expect.poll(async () => (await now())?.providerStatus).toBe(said);
    const { state, releasedAt } = (await now()) ?? over;
    if (state === 'NEEDS_REVIEW' && releasedAt === null) await review(session.id, 'RETRY');
    await expect.poll(() => statusOnNetwork(session.providerSessionId)).not.toBe('PENDING');
  });

  it('are not decided by a decision of an earlier review', async () => {
    const { id, providerSessionId } = await depositedCashOut(platform);
    await providerSays(platform, providerSessionId, 'refunded');
    await reaches(platform, id, 'NEEDS_REVIEW');
    const { dependencies } = platform;
    const slow = {
      ...dependencies,
      network: {
        ...network,
        async offRampDeposit(contract: string, sessionId: string) {
          await review(id, 'RETRY');
          await expect.poll(async () => (await readReviews(dependencies, id)).length).toBe(2);
          return network.offRampDeposit(contract, sessionId);
        },
      },
    };
    const decision = { offRampSessionId: id, decision: 'REFUND', reason: 'called the provider' } as const;
    await expect(decideSession(slow, 'operator-2', decision)).rejects.toMatchObject(CHANGED);
    await review(id, 'REFUND');
    await reaches(platform, id, 'REFUNDED');
  });

  it('is not undone by a provider that settles after the refund: it goes to an operator', async () => {
    const session = await depositedCashOut(platform);
    await providerSays(platform, session.providerSessionId, 'failed');
    await reaches(platform, session.id, 'REFUNDED');
    await providerSays(platform, session.providerSessionId, 'settled');
    const flagged = await reaches(platform, session.id, 'NEEDS_REVIEW');
    expect(flagged).toMatchObject({ resolution: 'REFUND', providerStatus: 'settled' });
    for (const decision of ['CONFIRM', 'REFUND', 'RETRY'] as const) {
      await expect(review(session.id, decision)).rejects.toMatchObject({
        code: 'CONFLICT',
        details: { field: 'input.decision' },
      });
    }
    // The network's state is accepted also while the provider does not answer.
    rampFaults = () => 'unreachable';
    expect(await review(session.id, 'ACCEPT')).toMatchObject({ state: 'REFUNDED' });
    rampFaults = () => null;
    // The next webhook does not ask an operator again about an accepted result.
    const looks = ramp.looksAt(session.providerSessionId);
    await hint(session.providerSessionId);
    await expect.poll(() => ramp.looksAt(session.providerSessionId)).toBeGreaterThan(looks);
    expect(await findOffRampSession(platform.dependencies, session.id)).toMatchObject({ state: 'REFUNDED' });
  });

  it('is tried again when an operator says so after the network refused it', async () => {
    const session = await depositedCashOut(platform);
    faults = (_method, _n, call) => (call?.kind === 'confirmOffRampSettlement' ? 'refused' : null);
    await providerSays(platform, session.providerSessionId, 'settled');
    const refused = await reaches(platform, session.id, 'NEEDS_REVIEW');
    faults = () => null;
    // Only a pause ends by itself.
    await stepOffRampSession(platform.dependencies, refused);
    expect(await findOffRampSession(platform.dependencies, session.id)).toMatchObject({
      state: 'NEEDS_REVIEW',
    });
    await expect(review(session.id, 'REFUND')).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { field: 'input.decision' },
    });
    // The release is decided, so it needs no provider: another one may be configured.
    const { dependencies } = platform;
    const elsewhere = { ...dependencies, ramp: { ...ramp, name: 'other-ramp' } };
    const retry = { offRampSessionId: session.id, decision: 'RETRY', reason: 'the refusal is over' } as const;
    await decideSession(elsewhere, 'operator-1', retry);
    await reaches(platform, session.id, 'SETTLED');
  });

  it('goes on by itself after a pause that has refused the last try, whatever has refused earlier ones', async () => {
    const session = await depositedCashOut(platform);
    faults = (_method, _n, call) => (call?.kind === 'confirmOffRampSettlement' ? 'refused' : null);
    await providerSays(platform, session.providerSessionId, 'settled');
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    faults = () => null;
    const settlement = (await network.settlementContract())?.address ?? '';
    await network.pauseToken(settlement);
    await review(session.id, 'RETRY');
    const paused = await reaches(platform, session.id, 'NEEDS_REVIEW');
    await network.pauseToken(settlement, false);
    const reviews = await readReviews(platform.dependencies, session.id);
    expect(reviews.at(-1)?.flaggedBecause).toContain('It goes on by itself when the pause is over');
    await stepOffRampSession(platform.dependencies, paused);
    await reaches(platform, session.id, 'SETTLED');
  });

  it('is looked at again when its outcome could not be read', async () => {
    const session = await depositedCashOut(platform);
    faults = (method) => (method === 'outcome' ? 'history-gone' : null);
    await providerSays(platform, session.providerSessionId, 'settled');
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    faults = () => null;
    const [undecided] = await platform.dependencies.db
      .select()
      .from(submissions)
      .where(and(eq(submissions.targetId, session.id), eq(submissions.state, 'NEEDS_REVIEW')));
    await expect(review(session.id, 'ACCEPT')).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { submissionId: undecided?.id },
    });
    await review(session.id, 'RETRY');
    await reaches(platform, session.id, 'SETTLED');
  });

  it('settles a receipt that has expired in custody', async () => {
    const receipt = await activeReceipt(platform);
    const session = await depositedCashOut(platform, receipt);
    await network.advanceClock(15_552_001);
    await providerSays(platform, session.providerSessionId, 'settled');
    await reaches(platform, session.id, 'SETTLED');
    await expect(depositedCashOut(platform, receipt)).rejects.toMatchObject({ code: 'RECEIPT_EXPIRED' });
  });
});

describe('setManualSessionStatus', () => {
  it('knows no other sessions, and no other providers', async () => {
    const set = (sessionId: string) =>
      setManualSessionStatus(platform.dependencies, 'operator-1', { sessionId, status: 'settled' });
    await expect(set(randomUUID())).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const other = { ...platform.dependencies, manualRamp: null };
    const status = { sessionId: 'x', status: 'settled' } as const;
    await expect(setManualSessionStatus(other, 'operator-1', status)).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    const { providerSessionId } = await depositedCashOut(platform);
    const pending = { sessionId: providerSessionId, status: 'pending' } as const;
    expect(await hasManualStatus(platform.dependencies, pending)).toBe(true);
    expect(await hasManualStatus(other, pending)).toBe(false);
  });

  it('lets no payout begin that was cancelled or has ended', async () => {
    const { id, providerSessionId: sessionId } = await depositedCashOut(platform);
    const set = (status: RampStatus) =>
      setManualSessionStatus(platform.dependencies, 'operator-1', { sessionId, status });
    const cancellation = { offRampSessionId: id, idempotencyKey: randomUUID() };
    await cancelCashOut(platform.dependencies, farmer, cancellation);
    await reaches(platform, id, 'REFUNDED');
    for (const status of ['processing', 'pending'] as const) {
      await expect(set(status)).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('do not pay'),
      });
    }
    expect(await platform.dependencies.ramp.getStatus(sessionId)).toMatchObject({ status: 'failed' });
  });

  it.each([
    ['SETTLED', 'confirmOffRampSettlement', 'settled'],
    ['REFUNDED', 'refundOffRamp', 'failed'],
  ] as const)(
    'lets no payout begin whose tokens are %s: a restored copy does not know it',
    async (state, kind, end) => {
      const { id, providerSessionId: sessionId } = await depositedCashOut(platform);
      const set = (status: RampStatus) =>
        setManualSessionStatus(platform.dependencies, 'operator-1', { sessionId, status });
      await landOutside(network, { kind, sessionId });
      await expect(set('processing')).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining(`${state}, so it must not be made: do not pay`),
        details: { field: 'input.sessionId', depositStatus: state },
      });
      // The session ends so once the bank statement shows the payment.
      await set(end);
      await reaches(platform, id, 'NEEDS_REVIEW');
      expect(await review(id, 'ACCEPT')).toMatchObject({ state });
    },
  );

  it.each([
    ['lost', null],
    ['lost, and whose reference another deposit has used since', { amount: 1n }],
  ])('lets no payout begin whose deposit the network has %s', async (_, other) => {
    const { providerSessionId: sessionId } = await depositedCashOut(platform);
    const offRampDeposit: typeof network.offRampDeposit = async (contract, reference) => {
      const deposit = await network.offRampDeposit(contract, reference);
      return deposit && other && { ...deposit, ...other };
    };
    const deps = { ...platform.dependencies, network: { ...network, offRampDeposit } };
    const status = { sessionId, status: 'processing' } as const;
    await expect(setManualSessionStatus(deps, 'operator-1', status)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('not deposited any more, so it must not be made: do not pay'),
      details: { field: 'input.sessionId', depositStatus: null },
    });
  });

  it('lets one operator make a payout', async () => {
    const { providerSessionId: sessionId } = await depositedCashOut(platform);
    const set = (by: string, status: RampStatus) =>
      setManualSessionStatus(platform.dependencies, by, { sessionId, status });
    const both = await Promise.allSettled([set('operator-1', 'processing'), set('operator-2', 'processing')]);
    const refused = both.flatMap((end) => (end.status === 'rejected' ? [end.reason as Error] : []));
    expect(refused).toEqual([
      expect.objectContaining({ code: 'CONFLICT', message: expect.stringMatching(/^operator-. has begun/) }),
    ]);
    const [first, second] =
      both[0]?.status === 'fulfilled' ? ['operator-1', 'operator-2'] : ['operator-2', 'operator-1'];
    // The same operator may repeat the status; another operator may begin once the first has left the payout.
    await set(first, 'processing');
    await set(first, 'pending');
    await set(second, 'processing');
    await expect(set(first, 'processing')).rejects.toMatchObject({ code: 'CONFLICT' });
    // An operator may take over from another one who has not paid.
    await set(first, 'pending');
    await set(first, 'processing');
  });

  it('lets no payout begin that is cancelled at the same moment', async () => {
    const { providerSessionId: sessionId } = await depositedCashOut(platform);
    let beginning: Promise<unknown> | undefined;
    await platform.dependencies.db.transaction(async (tx) => {
      await setSilently(tx, sessionId, 'failed');
      const change = { sessionId, status: 'processing' } as const;
      beginning = setManualSessionStatus(platform.dependencies, 'operator-1', change);
      beginning.catch(() => {});
      await expect.poll(() => hasLockWait(marketplace.database.handle)).toBe(true);
    });
    await expect(beginning).rejects.toMatchObject({ code: 'CONFLICT', details: { state: 'FAILED' } });
  });

  it('keeps who set each status, and the reference of the payment', async () => {
    const { id, providerSessionId: sessionId } = await depositedCashOut(platform);
    const set = (by: string, status: RampStatus, paymentReference?: string) =>
      setManualSessionStatus(platform.dependencies, by, { sessionId, status, paymentReference });
    await set('operator-1', 'processing');
    await set('operator-2', 'settled', 'MPESA QK41');
    await reaches(platform, id, 'SETTLED');
    const closed = await depositedCashOut(platform);
    await platform.dependencies.ramp.closeSession(closed.providerSessionId);
    await reaches(platform, closed.id, 'REFUNDED');
    const { sql } = marketplace.database.handle;
    expect(
      await sql`SELECT number, status, set_by, payment_reference FROM manual_ramp_statuses
        WHERE session_id IN (${sessionId}, ${closed.providerSessionId}) ORDER BY set_at, number`,
    ).toEqual([
      { number: 1, status: 'processing', set_by: 'operator-1', payment_reference: null },
      { number: 2, status: 'settled', set_by: 'operator-2', payment_reference: 'MPESA QK41' },
      { number: 1, status: 'failed', set_by: null, payment_reference: null },
    ]);
    await expect(sql`UPDATE manual_ramp_statuses SET set_by = 'x'`).rejects.toThrow('append-only');
  });
});

describe('the database', () => {
  it.each([
    ['KES', '-5'],
    ['kes?', '5'],
  ])('takes no manual session of %s %s', async (currency, amount) => {
    const { sql } = marketplace.database.handle;
    await expect(
      sql`INSERT INTO manual_ramp_sessions (id, reference, fiat_currency, fiat_amount, created_at)
        VALUES ('x', ${randomUUID()}, ${currency}, ${amount}, now())`,
    ).rejects.toThrow('manual_ramp_sessions_fiat');
  });

  it('shows an incremental reconciliation the session of a payout whose status alone has changed', async () => {
    const { id, providerSessionId } = await depositedCashOut(platform);
    const { db } = platform.dependencies;
    const readChanged = async (since: Snapshot) =>
      db.transaction(async (tx) => (await collectChanges(tx, since)) && makeExcerpt(tx));
    await providerSays(platform, providerSessionId, 'settled');
    await reaches(platform, id, 'SETTLED');
    const before = await readSnapshot(db);
    await silently(providerSessionId, 'failed');
    expect(await readChanged(before)).toMatchObject({
      offRampSessionIds: expect.arrayContaining([id]) as unknown,
    });
    await silently(providerSessionId, 'settled');
  });

  it('lets no resolution be changed, no session be moved or deleted against its life', async () => {
    const { id, providerSessionId } = await depositedCashOut(platform);
    const { sql } = marketplace.database.handle;
    await providerSays(platform, providerSessionId, 'settled');
    await reaches(platform, id, 'SETTLED');
    const rejected = async (query: Promise<unknown>, message: string) =>
      expect(query).rejects.toThrow(message);
    await rejected(sql`UPDATE off_ramp_sessions SET resolution = 'REFUND' WHERE id = ${id}`, 'set once');
    await rejected(sql`UPDATE off_ramp_sessions SET fiat_amount = 1 WHERE id = ${id}`, 'fixed');
    await rejected(sql`UPDATE off_ramp_sessions SET state = 'REFUNDING' WHERE id = ${id}`, "can't go");
    await rejected(sql`DELETE FROM off_ramp_sessions WHERE id = ${id}`, 'append-only');
    await rejected(
      sql`DELETE FROM off_ramp_provider_statuses WHERE off_ramp_session_id = ${id}`,
      'append-only',
    );
  });
});
