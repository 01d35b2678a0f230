/**
 * One look at a cash-out whose deposit a holder signs. What was given out to be signed may be sent by the wallet
 * itself, at any time, on some networks for ever; so the settlement contract is asked, not only our own submission.
 *
 *   AWAITING_SIGNATURE  deposited → AWAITING_PAYOUT; time is over, or failed by the provider → CLOSING
 *   DEPOSITING          may wait for ever, and its time is over → CLOSING
 *   REFUSED             deposited all the same → REFUNDING
 *   NEEDS_REVIEW        deposited → AWAITING_PAYOUT: what an operator was to decide, the network has decided
 *   the first two       paid by the provider, without the tokens in custody being certain → review
 */
import { eq, sql } from 'drizzle-orm';
import type { Tx } from '../db/connection.ts';
import { cashOutSessions } from '../db/schema/index.ts';
import type { OffRampDeposit } from '../ledger/network/port.ts';
import type { RampStatus } from '../ramp/port.ts';
import {
  CASH_OUTS,
  closeReview,
  isAcknowledged,
  giveBack,
  lockCashOut,
  moveTo,
  opened,
  openReview,
  recordStatus,
  type OpenedCashOut,
} from './cashOutMoves.ts';
import { settlementMismatch } from './checkCashOut.ts';
import type { Dependencies } from './dependencies.ts';
import { isAsAgreed, isByHolder, type CashOut } from './findCashOut.ts';
import { readHolderActs } from './findHolderAct.ts';

/** Longer than any network takes to make a transaction final that was sent in the last moment. */
const LANDING_GRACE_MS = 60 * 60_000;
/** Looks for a late deposit thin out: each time that the session has been closed for a tenth longer, */
const LATE_LOOK_AGE_DIVISOR = 10;
const SHORTEST_LATE_LOOK_MS = 60_000;
const LONGEST_LATE_LOOK_MS = 7 * 24 * 60 * 60_000;
/** for a year. After that only who asks about the session again makes it looked at. */
const LATE_LOOKS_MS = 365 * 24 * 60 * 60_000;

/** @returns whether the provider was asked as well, so that nothing is left to ask. */
export async function stepHolderCashOut(deps: Dependencies, session: OpenedCashOut): Promise<boolean> {
  const { state } = session;
  if (state === 'AWAITING_SIGNATURE') await stepAwaitingSignature(deps, session);
  else if (state === 'DEPOSITING') await stepDepositing(deps, session);
  else if (isUndepositedReview(session)) await stepUndepositedReview(deps, session);
  else if (mayBeDepositedLate(session)) await stepLateDeposit(deps, session);
  return state === 'AWAITING_SIGNATURE' || state === 'DEPOSITING';
}

async function stepAwaitingSignature(deps: Dependencies, session: OpenedCashOut): Promise<void> {
  if (await isReviewedAsForeign(deps, session)) return;
  const found = await deps.network.offRampDeposit(session.providerSessionId);
  const status = await deps.ramp.getStatus(session.providerSessionId);
  const isTimeOver = await isSigningOver(deps, session);
  await deps.db.transaction(async (tx) => {
    const current = await lockCashOut(tx, session.id);
    await recordStatus(tx, deps, current, status);
    if (current.state !== 'AWAITING_SIGNATURE') return;
    if (found?.status === 'PENDING' && isAsAgreed(current, found)) {
      const noRefusal = { refusalCode: null, refusalMessage: null };
      await moveTo(tx, current, 'AWAITING_PAYOUT', { ...noRefusal, depositedAt: deps.clock.now() });
    } else if (await isPaidUnexpectedly(tx, current, status)) {
      await openReview(tx, deps, current, paidWithoutDeposit(status));
    } else {
      const refusal = refusalOf(status, found, isTimeOver);
      if (refusal !== null) await moveTo(tx, current, 'CLOSING', refusal);
    }
  });
}

/** The settlement contract in use can't tell whether something was deposited in the session's own. */
export async function isReviewedAsForeign(deps: Dependencies, session: OpenedCashOut): Promise<boolean> {
  const mismatch = await settlementMismatch(deps.network, session);
  if (mismatch === null) return false;
  await deps.db.transaction(async (tx) => {
    const current = await lockCashOut(tx, session.id);
    if (current.state === session.state) await openReview(tx, deps, current, mismatch);
  });
  return true;
}

/** Submission sends and asks; here only what it can't know: that nobody waits any more, and that it was paid. */
async function stepDepositing(deps: Dependencies, session: OpenedCashOut): Promise<void> {
  const status = await deps.ramp.getStatus(session.providerSessionId);
  const acts = await readHolderActs(deps, session.id);
  const mayWaitForEver = acts.some(
    ({ state, unsigned }) => state === 'SUBMITTED' && unsigned.validUntil === null,
  );
  const isOverdue = millisecondsPast(deps, session) > LANDING_GRACE_MS;
  await deps.db.transaction(async (tx) => {
    const current = await lockCashOut(tx, session.id);
    await recordStatus(tx, deps, current, status);
    if (current.state !== 'DEPOSITING') return;
    if (await isPaidUnexpectedly(tx, current, status)) {
      await openReview(tx, deps, current, paidWithoutDeposit(status));
    } else if (mayWaitForEver && isOverdue) {
      await moveTo(tx, current, 'CLOSING', {
        refusalCode: 'LEDGER_REJECTED',
        refusalMessage: 'the signed deposit did not land in time; should it land later, it is given back',
      });
    }
  });
}

/** What an operator waits for, most of all: the deposit that is paid for, or not known to have landed. */
async function stepUndepositedReview(deps: Dependencies, session: OpenedCashOut): Promise<void> {
  const found = await deps.network.offRampDeposit(session.providerSessionId);
  if (found?.status !== 'PENDING' || !isAsAgreed(session, found)) return;
  await deps.db.transaction(async (tx) => {
    const current = await lockCashOut(tx, session.id);
    if (current.state !== 'NEEDS_REVIEW' || current.depositedAt !== null) return;
    const at = deps.clock.now();
    await closeReview(tx, session.id, at, null);
    const noRefusal = { refusalCode: null, refusalMessage: null, closedAt: null };
    await moveTo(tx, current, 'AWAITING_PAYOUT', { ...noRefusal, depositedAt: at });
  });
}

/** Under review, and a deposit would end that. */
export function isUndepositedReview(session: CashOut): boolean {
  const { state, depositedAt, providerSessionId } = session;
  return (
    state === 'NEEDS_REVIEW' && isByHolder(session) && depositedAt === null && providerSessionId !== null
  );
}

/** Deposited after the session was closed: whoever deposited gets it back, unless the provider has paid after all. */
async function stepLateDeposit(deps: Dependencies, session: OpenedCashOut): Promise<void> {
  const found = await deps.network.offRampDeposit(session.providerSessionId);
  if (!isToBeGivenBack(session, found)) return;
  await deps.db.transaction(async (tx) => {
    const current = opened(await lockCashOut(tx, session.id));
    if (current.state === 'REFUSED') await giveBack(tx, deps, current);
  });
}

/** Of a session that is closed at the provider. What is not of the receipt's token is nothing of ours. */
export function isToBeGivenBack(session: CashOut, found: OffRampDeposit | null): found is OffRampDeposit {
  return isByHolder(session) && found?.status === 'PENDING' && found.tokenAddress === session.tokenAddress;
}

/** Whether something may still be deposited that nobody waits for: whoever has the reference can do so. */
export function mayBeDepositedLate(session: CashOut): boolean {
  return session.state === 'REFUSED' && isByHolder(session) && session.providerSessionId !== null;
}

/** @returns when to look for a late deposit next; null when it has been long enough. */
export function lateDepositLookMs(sinceClosedMs: number): number | null {
  if (sinceClosedMs > LATE_LOOKS_MS) return null;
  const delayMs = Math.max(sinceClosedMs / LATE_LOOK_AGE_DIVISOR, SHORTEST_LATE_LOOK_MS);
  return Math.min(delayMs, LONGEST_LATE_LOOK_MS);
}

/** Somebody asks about a session whose deposit may have come unnoticed. */
export async function lookSoon(deps: Pick<Dependencies, 'db' | 'subjects'>, session: CashOut): Promise<void> {
  if (!mayBeDepositedLate(session)) return;
  await deps.db
    .update(cashOutSessions)
    .set({ dueAt: sql`now()`, hints: sql`${cashOutSessions.hints} + 1` })
    .where(eq(cashOutSessions.id, session.id));
  deps.subjects.ring(CASH_OUTS);
}

function millisecondsPast(deps: Pick<Dependencies, 'clock'>, { signUntil }: CashOut): number {
  return signUntil === null ? 0 : deps.clock.now().getTime() - signUntil.getTime();
}

/** Past the time for the signature, and nothing that was given out in that time can land any more, where it expires. */
async function isSigningOver(deps: Dependencies, session: CashOut): Promise<boolean> {
  if (millisecondsPast(deps, session) <= 0) return false;
  const acts = await readHolderActs(deps, session.id);
  const lastMoments = acts
    .filter(({ kind, state }) => kind === 'initiateOffRamp' && state === 'PREPARED')
    .map(({ unsigned }) => unsigned.validUntil ?? 0n);
  if (lastMoments.length === 0) return true;
  const { closedAt } = await deps.network.status();
  return lastMoments.every((lastMoment) => closedAt > lastMoment);
}

/** What no deposit has earned. An operator who has decided about it is not asked again. */
async function isPaidUnexpectedly(tx: Tx, session: CashOut, status: RampStatus): Promise<boolean> {
  if (status !== 'settled' && status !== 'refunded') return false;
  return !(await isAcknowledged(tx, session.id));
}

export function paidWithoutDeposit(status: RampStatus): string {
  return `the provider says "${status}", but the holder's deposit is not in custody`;
}

/** Why a session has to be closed whose deposit was not signed; null while it is waited for. */
function refusalOf(status: RampStatus, found: OffRampDeposit | null, isTimeOver: boolean) {
  if (status === 'failed') {
    return {
      refusalCode: 'RAMP_REJECTED',
      refusalMessage: 'the provider failed the payout before the deposit',
    };
  }
  if (found !== null) {
    const { amount, tokenAddress, depositor } = found;
    const refusalMessage = `its reference was used up by a deposit of ${amount} base units of ${tokenAddress} by ${depositor}`;
    return { refusalCode: 'LEDGER_REJECTED', refusalMessage };
  }
  if (isTimeOver) {
    return { refusalCode: 'CONFLICT', refusalMessage: 'the signed deposit did not come in time' };
  }
  return null;
}
