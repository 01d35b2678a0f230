/**
 * resolveSessionReview: an operator decides about a cash-out what no rule could.
 *
 *   RETRY    go on from where the session stood: sign again, or ask the provider again
 *   CONFIRM  the tokens in custody go to the treasury
 *   REFUND   the tokens in custody go back to the depositor
 *   ACCEPT   it stays as the network shows it: released, refunded, or never deposited
 */
import { and, desc, eq, isNull, or } from 'drizzle-orm';
import type { Tx } from '../db/connection.ts';
import { cashOutReviews, submissions } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import type { OffRampDeposit } from '../ledger/network/port.ts';
import { resumeWithin } from '../ledger/submission/review.ts';
import { NEW_SUBMISSION } from '../ledger/submission/submission.ts';
import {
  CASH_OUTS,
  closeReview,
  lockCashOut,
  moveTo,
  opened,
  resolve,
  type OpenedCashOut,
} from './cashOutMoves.ts';
import { deposit } from './custodyDeposits.ts';
import type { Dependencies } from './dependencies.ts';
import { findCashOut, isAsAgreed, isByHolder, type CashOut, type CashOutReview } from './findCashOut.ts';
import { isToBeGivenBack } from './stepHolderCashOut.ts';

/** For a holder who owes a deposit that is paid already: a day, as people have to be asked. */
const RENEWED_SIGNING_MS = 24 * 60 * 60_000;

export const SESSION_REVIEW_DECISIONS = ['RETRY', 'CONFIRM', 'REFUND', 'ACCEPT'] as const;
export type SessionReviewDecision = (typeof SESSION_REVIEW_DECISIONS)[number];

export interface SessionReviewInput {
  /** Our reference of the session. */
  cashOutId: string;
  decision: SessionReviewDecision;
  /** Why; kept for ever. */
  note: string;
}

/**
 * @throws DomainError NOT_FOUND, CONFLICT (not under review, or the decision does not fit what the network
 * shows); NetworkUnavailable
 */
export async function resolveSessionReview(
  deps: Dependencies,
  operatorId: string,
  input: SessionReviewInput,
): Promise<CashOut> {
  const { cashOutId, decision, note } = input;
  const session = await findCashOut(deps, cashOutId);
  if (!session) throw new DomainError('NOT_FOUND', `There is no cash-out session ${cashOutId}.`);
  const onNetwork =
    session.providerSessionId === null ? null : await deps.network.offRampDeposit(session.providerSessionId);

  await deps.db.transaction(async (tx) => {
    const current = await lockCashOut(tx, cashOutId);
    const review = await openReviewOf(tx, current);
    const at = deps.clock.now();
    await closeReview(tx, cashOutId, at, { decision, decidedBy: operatorId, note });
    const held = onNetwork !== null && isAsAgreed(current, onNetwork) ? onNetwork : null;
    const undecided = await undecidedSubmission(tx, current);
    if (undecided?.state === 'PENDING') throw underWay(undecided.id);
    if (decision === 'RETRY') {
      if (undecided === null) await retry(tx, deps, current, held, at, review);
      else await resumeWithin(tx, deps.submission, undecided.id);
    } else if (undecided !== null) throw undecidedFirst(undecided.id);
    else if (decision === 'ACCEPT') await accept(tx, current, held, at, review);
    else
      await release(
        tx,
        deps,
        current,
        decision === 'REFUND' ? refundable(current, onNetwork) : held,
        decision,
        at,
      );
  });

  deps.log.info({ cashOutId, decision, operatorId, note }, 'cash-out review resolved');
  for (const key of [cashOutId, CASH_OUTS, NEW_SUBMISSION]) deps.subjects.ring(key);
  return (await findCashOut(deps, cashOutId)) ?? session;
}

async function openReviewOf(tx: Tx, session: CashOut): Promise<CashOutReview> {
  const [review] = await tx
    .select()
    .from(cashOutReviews)
    .where(and(eq(cashOutReviews.sessionId, session.id), isNull(cashOutReviews.closedAt)))
    .orderBy(desc(cashOutReviews.openedAt));
  if (session.state === 'NEEDS_REVIEW' && review) return review;
  throw new DomainError('CONFLICT', `Cash-out session ${session.id} is ${session.state}, not NEEDS_REVIEW.`);
}

/**
 * A network call of this session that itself waits for an operator, or that custody has under way. What a holder has
 * under way may stay so for ever, and what it deposits late is given back.
 */
async function undecidedSubmission(tx: Tx, session: CashOut): Promise<Undecided | null> {
  const { id, state, signer, subjectId } = submissions;
  const isUndecided = or(eq(state, 'NEEDS_REVIEW'), and(eq(state, 'PENDING'), eq(signer, 'CUSTODY')));
  const [undecided] = await tx
    .select({ id, state })
    .from(submissions)
    .where(and(eq(subjectId, session.id), isUndecided));
  return undecided ?? null;
}

type Undecided = Pick<typeof submissions.$inferSelect, 'id' | 'state'>;

function underWay(submissionId: string): DomainError {
  return new DomainError(
    'CONFLICT',
    `Submission ${submissionId} of this session is under way: decide when the network has decided it.`,
    { submissionId },
  );
}

function undecidedFirst(submissionId: string): DomainError {
  return new DomainError(
    'CONFLICT',
    `Submission ${submissionId} of this session may still land. RETRY, or give it up with resolveReview first.`,
    { submissionId },
  );
}

async function retry(
  tx: Tx,
  deps: Dependencies,
  session: CashOut,
  held: OffRampDeposit | null,
  at: Date,
  review: CashOutReview,
): Promise<void> {
  const known = opened(session);
  if (session.depositedAt === null) {
    // It is there and nobody noticed; or it is owed, because the provider has paid; or nothing is.
    if (held?.status === 'PENDING') await moveTo(tx, session, 'AWAITING_PAYOUT', { depositedAt: at });
    else if (session.providerStatus === 'settled') await owe(tx, deps, known);
    else {
      // Whoever reads of its end learns why it was flagged, where nothing refused it.
      const refusalMessage = session.refusalMessage ?? review.reason;
      await moveTo(tx, session, 'CLOSING', { closedAt: null, refusalMessage });
    }
  } else if (session.releasedAt !== null) {
    throw new DomainError(
      'CONFLICT',
      `Nothing is left to retry: the tokens were released in ${session.resolutionTxHash}. Settle the difference with the provider, then ACCEPT.`,
    );
  } else if (session.resolution === null) await moveTo(tx, session, 'AWAITING_PAYOUT');
  else await resolve(tx, deps, known, session.resolution);
}

/** Paid, but nothing is there: custody deposits, or the holder gets time to sign again. */
async function owe(tx: Tx, deps: Dependencies, session: OpenedCashOut): Promise<void> {
  if (!isByHolder(session)) await deposit(tx, deps, session, { closedAt: null });
  else if (await isDepositUnderWay(tx, session)) await moveTo(tx, session, 'DEPOSITING', { closedAt: null });
  else {
    const signUntil = new Date(deps.clock.now().getTime() + RENEWED_SIGNING_MS);
    await moveTo(tx, session, 'AWAITING_SIGNATURE', { closedAt: null, signUntil });
  }
}

async function isDepositUnderWay(tx: Tx, session: CashOut): Promise<boolean> {
  const deposits = and(eq(submissions.subjectId, session.id), eq(submissions.kind, 'initiateOffRamp'));
  return (await tx.$count(submissions, and(deposits, eq(submissions.state, 'PENDING')))) > 0;
}

/** What a holder put there goes back to whoever did, also when it is not what was agreed. */
function refundable(session: CashOut, found: OffRampDeposit | null): OffRampDeposit | null {
  if (found === null || isAsAgreed(session, found)) return found;
  return isToBeGivenBack(session, found) ? found : null;
}

async function release(
  tx: Tx,
  deps: Dependencies,
  session: CashOut,
  held: OffRampDeposit | null,
  decision: 'CONFIRM' | 'REFUND',
  at: Date,
): Promise<void> {
  const resolution = decision === 'CONFIRM' ? 'SETTLE' : 'REFUND';
  if (held?.status !== 'PENDING') {
    throw new DomainError(
      'CONFLICT',
      `There is nothing to ${decision}: the settlement contract shows ${held?.status ?? 'no deposit of this session'}.`,
      { depositStatus: held?.status ?? null },
    );
  }
  if (session.resolution !== null && session.resolution !== resolution) {
    throw new DomainError(
      'CONFLICT',
      `It was decided before to ${session.resolution}, and what was signed for that may still land.`,
    );
  }
  const depositedAt = session.depositedAt ?? at;
  await moveTo(tx, session, 'NEEDS_REVIEW', { depositedAt });
  await resolve(tx, deps, opened(session), resolution);
}

async function accept(
  tx: Tx,
  session: CashOut,
  held: OffRampDeposit | null,
  at: Date,
  review: CashOutReview,
): Promise<void> {
  const closedAt = session.closedAt ?? at;
  if (held === null) {
    if (session.depositedAt !== null) {
      throw new DomainError(
        'CONFLICT',
        `The deposit ${session.depositTxHash} is not to be found in the settlement contract in use. ` +
          `It was made into ${session.settlementAddress}.`,
        { settlementAddress: session.settlementAddress },
      );
    }
    const refusalMessage = session.refusalMessage ?? review.reason;
    await moveTo(tx, session, 'REFUSED', { closedAt, refusalMessage });
    return;
  }
  if (held.status !== 'SETTLED' && held.status !== 'REFUNDED') {
    throw new DomainError(
      'CONFLICT',
      `The settlement contract still holds the tokens (${held.status}): decide CONFIRM or REFUND.`,
      { depositStatus: held.status },
    );
  }
  await moveTo(tx, session, held.status, {
    depositedAt: session.depositedAt ?? at,
    releasedAt: session.releasedAt ?? at,
    closedAt,
  });
}
