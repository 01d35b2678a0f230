/**
 * Code that the steps and effects of an off-ramp session share: its lock, its calls, the provider's statuses,
 * and its reviews. The states are in transitions.ts.
 */
import { and, eq, inArray, isNotNull, isNull, sql, type SQL } from 'drizzle-orm';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
import type { Clock, IdSource } from '../../../lib/clock.ts';
import type { Db, Tx } from '../../../db/connection.ts';
import { lockById, updateById } from '../../../db/findByIds.ts';
import {
  offRampProviderStatuses,
  offRampReviews,
  offRampSessions,
  submissions,
} from '../../../db/tables/index.ts';
import type { HolderCall, LedgerNetwork, NetworkCall } from '../../../ledger/network/port.ts';
import { enqueueSubmission } from '../../../ledger/submission/enqueue.ts';
import { toBaseUnits } from '../../../ledger/units.ts';
import { DomainError } from '../../../lib/errors.ts';
import type { RampStatus } from '../../../ramp/port.ts';
import type { OffRampReview, OffRampSession, OffRampState } from './findOffRampSession.ts';

/** Key in the state signal for "an off-ramp session is due". */
export const OFF_RAMP_SESSIONS = 'off-ramp sessions';

export interface MoveDependencies {
  network: Pick<LedgerNetwork, 'depositsNeedAllowance'>;
  clock: Clock;
  ids: IdSource;
}

/** New values of a session's columns; moments are the database's, written as SQL. */
export type OffRampSessionChanges = PgUpdateSetSource<typeof offRampSessions>;

/**
 * Values for a final deposit: the reason for which the session was, or was to be, closed no longer applies.
 */
export const DEPOSITED = {
  refusalCode: null,
  stateReason: null,
  endedAt: null,
  depositedAt: sql`now()`,
} satisfies OffRampSessionChanges;

/** Values that make a session due, also after a step that is under way. */
export const HINT = {
  dueAt: sql`now()`,
  hints: sql`${offRampSessions.hints} + 1`,
  fruitlessSteps: 0,
} satisfies OffRampSessionChanges;

/** The next value of `reviewVersion`. */
export const NEW_VERSION = sql`gen_random_uuid()`;

/** A session that the provider knows. */
export type OpenedOffRampSession = OffRampSession & { providerSessionId: string };

/**
 * Everything that works on an off-ramp session takes locks in one order, or two transactions wait for each
 * other: its submission, the session, the holder's act, the receipt. Several rows of one kind are locked in
 * the order of their ids.
 */
export function lockOffRampSession(tx: Tx, id: string): Promise<OffRampSession> {
  return lockById(tx, offRampSessions, id);
}

/**
 * Makes a step's move under the lock, unless the session has left the state in which the step found it: the
 * step has asked others meanwhile, and another instance may have made the same step.
 */
export async function moveFrom(
  { db }: { db: Pick<Db, 'transaction'> },
  { id, state }: OffRampSession,
  move: (tx: Tx, current: OffRampSession) => Promise<void>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const current = await lockOffRampSession(tx, id);
    if (current.state === state) await move(tx, current);
  });
}

export function requireOpenAtProvider(session: OffRampSession): OpenedOffRampSession {
  const { providerSessionId } = session;
  if (providerSessionId === null)
    throw new Error(`off-ramp session ${session.id} is not open at its provider`);
  return { ...session, providerSessionId };
}

/**
 * @returns whether the status is new. Nothing leads back from an end: an earlier status is a delayed answer.
 */
export async function recordStatus(tx: Tx, session: OffRampSession, status: RampStatus): Promise<boolean> {
  const before = session.providerStatus;
  if (before === status || (isEnd(before) && !isEnd(status))) return false;
  const { id: offRampSessionId } = session;
  const number = sql`${statusesOf(offRampSessionId)} + 1`;
  await tx
    .insert(offRampProviderStatuses)
    .values({ offRampSessionId, number, status, observedAt: sql`now()` });
  await updateById(tx, offRampSessions, session.id, { providerStatus: status, reviewVersion: NEW_VERSION });
  return true;
}

export function sessionNotUnderReview({ state }: OffRampSession): DomainError {
  const field = 'input.offRampSessionId';
  return new DomainError('CONFLICT', `The off-ramp session is ${state}, not NEEDS_REVIEW.`, { field, state });
}

/**
 * Why the provider's statuses do not say whether the payout was made: it took back a payout that it had
 * reported, whatever it said afterwards. Null when they do, or when an operator has decided about them. The
 * money may be with the farmer, or may not: a refund would give the tokens, too, and a release takes them.
 */
export async function describeTakenBack(
  tx: Pick<Tx, 'select'>,
  { id }: OffRampSession,
  status: RampStatus | null,
): Promise<string | null> {
  if (status === 'refunded') return 'the provider says that it took the payout back';
  if (!isEnd(status)) return null;
  const { offRampSessionId, number, status: said } = offRampProviderStatuses;
  const [known] = await tx
    .select({
      isTakenBack: sql<boolean | null>`min(${number}) FILTER (WHERE ${said} = 'settled')
        < max(${number}) FILTER (WHERE ${said} IN ('failed', 'refunded'))`,
    })
    .from(offRampProviderStatuses)
    .where(eq(offRampSessionId, id));
  if (!known?.isTakenBack || (await isAcknowledged(tx, id))) return null;
  return status === 'failed'
    ? 'the provider says "failed" after it said "settled"'
    : 'the provider says "settled" after it took a payout back';
}

/** Whether the provider does nothing more on its own initiative. */
export function isEnd(status: RampStatus | null): boolean {
  return status === 'settled' || status === 'failed' || status === 'refunded';
}

/** Allows exactly the amount of the deposit, so that a later deposit can't take the rest by mistake. */
export function allowanceCall(session: OpenedOffRampSession): HolderCall {
  const { tokenAddress } = session;
  return { kind: 'setAllowance', tokenAddress, amount: toBaseUnits(session.tokenAmountKg) };
}

export function depositCall(session: OpenedOffRampSession): Extract<NetworkCall, { kind: 'depositOffRamp' }> {
  const { providerSessionId: sessionId, tokenAddress } = session;
  const amount = toBaseUnits(session.tokenAmountKg);
  return { kind: 'depositOffRamp', sessionId, tokenAddress, amount };
}

/** Call it in the transaction of the move that causes the call. */
export async function enqueueCall(
  tx: Tx,
  deps: MoveDependencies,
  targetId: string,
  call: NetworkCall,
): Promise<void> {
  await enqueueSubmission(tx, deps, { targetType: 'OFF_RAMP_SESSION', targetId, call });
}

/** The deposit, or custody's allowance before it. What enqueues one holds the session's lock. */
export async function isDepositUnderWay(tx: Tx, { id }: OffRampSession): Promise<boolean> {
  const { targetId, kind, state } = submissions;
  const isOfDeposit = inArray(kind, ['setAllowance', 'depositOffRamp']);
  const isOpen = inArray(state, ['PENDING', 'NEEDS_REVIEW']);
  return (await tx.$count(submissions, and(eq(targetId, id), isOfDeposit, isOpen))) > 0;
}

/** There is one at most. */
export async function findOpenReview(
  tx: Pick<Tx, 'select'>,
  sessionId: string,
): Promise<OffRampReview | undefined> {
  const [review] = await tx.select().from(offRampReviews).where(isOpenReviewOf(sessionId));
  return review;
}

function isOpenReviewOf(sessionId: string) {
  return and(eq(offRampReviews.offRampSessionId, sessionId), isNull(offRampReviews.closedAt));
}

/** @param decided null when the network's outcome or another reason closes the review, not an operator */
export async function closeReview(
  tx: Tx,
  sessionId: string,
  decided: {
    decision: NonNullable<OffRampReview['decision']>;
    decidedBy: string;
    reason: string;
    approvalRequestId: string | null;
    depositSeen: NonNullable<OffRampReview['depositSeen']>;
  } | null,
): Promise<void> {
  await tx
    .update(offRampReviews)
    .set({ ...decided, closedAt: sql`now()`, statusesSeen: statusesOf(sessionId) })
    .where(isOpenReviewOf(sessionId));
}

/** Number of statuses that the provider reported; counted under the session's row lock. */
function statusesOf(sessionId: string) {
  return sql`(SELECT count(*)::int FROM ${offRampProviderStatuses} s WHERE s.off_ramp_session_id = ${sessionId})`;
}

/** Whether an operator has decided about the provider's newest status. */
export function isAcknowledged(tx: Pick<Tx, 'select'>, sessionId: string): Promise<boolean> {
  // Statuses are compared by number, because a clock may be wrong.
  return isDecided(tx, sessionId, sql`${offRampReviews.statusesSeen} >= ${statusesOf(sessionId)}`);
}

/** Whether an operator has decided a review of the session that meets the condition. */
export async function isDecided(tx: Pick<Tx, 'select'>, sessionId: string, how: SQL): Promise<boolean> {
  const { id, offRampSessionId, decision } = offRampReviews;
  const [decided] = await tx
    .select({ id })
    .from(offRampReviews)
    .where(and(eq(offRampSessionId, sessionId), isNotNull(decision), how))
    .limit(1);
  return decided !== undefined;
}

/**
 * Why the provider's statuses object to a release; null when they agree, or when an operator has decided
 * about them. An operator who chose this release is asked again only when the provider says the opposite.
 */
export async function objectionToRelease(
  tx: Pick<Tx, 'select'>,
  session: OffRampSession,
  state: 'SETTLED' | 'REFUNDED',
  were: 'were' | 'are to be',
): Promise<string | null> {
  const { id, providerStatus } = session;
  const conflict = contradiction(state, providerStatus, were);
  if (conflict !== null) return (await isAcknowledged(tx, id)) ? null : conflict;
  const takenBack = await describeTakenBack(tx, session, providerStatus);
  // The choice is made once, so it was this release.
  const isChosen = inArray(offRampReviews.decision, ['CONFIRM', 'REFUND']);
  return takenBack !== null && (await isDecided(tx, id, isChosen)) ? null : takenBack;
}

/**
 * Describes how the provider's status contradicts the tokens' place; null when they agree.
 * @param state where the session has ended, or is about to end
 * @param were whether the tokens are there already
 */
export function contradiction(
  state: OffRampState,
  status: RampStatus | null,
  were: 'were' | 'are to be' = 'were',
): string | null {
  if (state === 'SETTLED' && (status === 'failed' || status === 'refunded')) {
    return `the provider says "${status}", but the tokens ${were} released to the treasury`;
  }
  if (state === 'REFUNDED' && (status === 'settled' || status === 'refunded')) {
    return `the provider says "${status}", but the tokens ${were} given back to the depositor`;
  }
  if (state === 'CLOSED' && (status === 'settled' || status === 'refunded')) {
    return `the provider says "${status}", but the tokens were never deposited`;
  }
  // The payout may still settle: until an operator decides, its kilograms stay taken.
  if (state === 'CLOSED' && status === 'processing') {
    return `the provider says "processing": it pays a session that was closed`;
  }
  return null;
}
