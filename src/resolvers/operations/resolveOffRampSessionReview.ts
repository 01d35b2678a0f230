/**
 * resolveOffRampSessionReview: an operator decides about an off-ramp session when no rule can, or when its
 * ramp provider can't be asked any more because another one is configured.
 *
 *   RETRY    continue from where the session stood: sign again, or ask the provider again
 *   CONFIRM  the deposited tokens go to the treasury
 *   REFUND   the deposited tokens return to the depositor
 *   ACCEPT   the state that the network shows is final: released, refunded, or never deposited
 */
import { sql } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { offRampSessions } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { notFound } from '../../lib/notFound.ts';
import type { OffRampDeposit } from '../../ledger/network/port.ts';
import { resumeWithin } from '../../ledger/submission/review.ts';
import { NEW_SUBMISSION } from '../../ledger/submission/submission.ts';
import { applyEvent } from '../warehouse/offRamp/applyEvent.ts';
import { requireStillFree, settlementMismatch } from '../warehouse/offRamp/checkCashOut.ts';
import { findDeposit } from '../warehouse/offRamp/findDeposit.ts';
import {
  DEPOSITED,
  OFF_RAMP_SESSIONS,
  closeReview,
  findOpenReview,
  isDepositUnderWay,
  lockOffRampSession,
  sessionNotUnderReview,
} from '../warehouse/offRamp/offRampMoves.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import {
  findOffRampSession,
  isAsAgreed,
  type OffRampSession,
  type OffRampReview,
} from '../warehouse/offRamp/findOffRampSession.ts';
import { isToBeGivenBack } from '../warehouse/offRamp/stepHolderDeposit.ts';
import { observeReviewed } from '../warehouse/offRamp/stepOffRampSession.ts';
import {
  accept,
  depositSeen,
  inTransaction,
  orNow,
  requireGoneForGood,
  requireUnreleased,
  unfit,
} from './acceptSessionReview.ts';
import { lockDecidableSession, requireSeen, type SeenReview } from './reviewVersion.ts';
import { isStranded, STRANDED } from './strandedSessions.ts';
import { findUndecided, undecidedFirst, underWay } from './undecidedSubmission.ts';

type ResolveOffRampSessionReviewNeeds = Needs<
  'db' | 'network' | 'ramp' | 'submission' | 'stateSignal' | 'log'
>;
/** Dependencies of a move to another state, which may enqueue a submission. */
type MoveNeeds = Needs<'network' | 'ramp' | 'submission'>;

/** A day for a holder to sign a deposit that is already paid for: an operator has to contact the holder. */
const RENEWED_SIGNING_SECONDS = 24 * 60 * 60;

/** What the network shows before the transaction of the decision, which asks it nothing. */
interface Seen {
  onNetwork: OffRampDeposit | null;
  mismatch: string | null;
}

export type OffRampSessionReviewDecision = NonNullable<OffRampReview['decision']>;

export interface SessionReviewInput extends SeenReview {
  /** Our reference of the session. */
  offRampSessionId: string;
  decision: OffRampSessionReviewDecision;
  /** Kept permanently. */
  reason: string;
}

/**
 * @throws DomainError NOT_FOUND, CONFLICT (neither under review nor stranded, the review or the provider's
 *   status has changed, or the decision does not fit what the network shows); RAMP_UNAVAILABLE;
 *   NetworkUnavailable
 */
export async function resolveOffRampSessionReview(
  deps: ResolveOffRampSessionReviewNeeds,
  operatorId: string,
  input: SessionReviewInput,
  grant?: Grant,
): Promise<OffRampSession> {
  const { offRampSessionId, decision, reason } = input;
  const session = await findOffRampSession(deps, offRampSessionId);
  if (!session) throw notFound('off-ramp session', 'input.offRampSessionId');
  if (decision !== 'ACCEPT') await observeReviewed(deps, session);
  const { providerSessionId } = session;
  const onNetwork =
    providerSessionId === null ? null : await findDeposit(deps, { ...session, providerSessionId });
  if (decision === 'ACCEPT') await requireGoneForGood(deps, session, onNetwork);
  const mismatch = decision === 'ACCEPT' ? null : await settlementMismatch(deps.network, session);
  const seen = { onNetwork, mismatch };

  await deps.db.transaction(async (tx) => {
    // The lock order of offRampMoves.ts: settling locks the submission before the session.
    const undecided = await findUndecided(tx, offRampSessionId, 'lock');
    await grant?.confirm(tx);
    const current = await lockForDecision(tx, deps, offRampSessionId, input);
    const review = await findOpenReview(tx, offRampSessionId);
    if (!review) throw sessionNotUnderReview(current);
    await closeReview(tx, offRampSessionId, {
      decision,
      decidedBy: operatorId,
      reason,
      approvalRequestId: grant?.requestId ?? null,
      depositSeen: depositSeen(current, onNetwork),
    });
    // The session may have changed while this transaction waited for its locks.
    if ((await findUndecided(tx, offRampSessionId))?.id !== undecided?.id) throw decidedMeanwhile();
    if (undecided?.state === 'PENDING') throw underWay(undecided.id);
    if (decision === 'RETRY') {
      if (undecided === null) await retry(tx, deps, current, seen, review);
      else await resumeWithin(tx, deps.submission, undecided);
    } else if (undecided !== null) throw undecidedFirst(undecided.id);
    else if (decision === 'ACCEPT') await accept(tx, deps, current, onNetwork, review);
    else await release(tx, deps, current, seen, decision);
  });

  deps.log.info(
    { offRampSessionId, decision, caller: operatorId, reason },
    'off-ramp session review resolved',
  );
  for (const key of [offRampSessionId, session.receiptId, OFF_RAMP_SESSIONS, NEW_SUBMISSION])
    deps.stateSignal.notify(key);
  return (await findOffRampSession(deps, offRampSessionId)) ?? session;
}

/** A stranded session is decided like one under review. */
async function lockForDecision(
  tx: Tx,
  deps: MoveNeeds,
  id: string,
  seen: SeenReview,
): Promise<OffRampSession> {
  const session = await lockDecidableSession(tx, deps, id);
  requireSeen(seen, session.reviewVersion);
  if (!isStranded(deps, session)) return session;
  await applyEvent(tx, deps.submission, session, 'undecidable', { reason: STRANDED });
  return lockOffRampSession(tx, id);
}

function decidedMeanwhile(): DomainError {
  return new DomainError(
    'CONFLICT',
    'The off-ramp session has changed in the meantime: read it again, then decide.',
    { field: 'input.offRampSessionId' },
  );
}

async function retry(
  tx: Tx,
  deps: MoveNeeds,
  session: OffRampSession,
  { onNetwork, mismatch }: Seen,
  review: OffRampReview,
): Promise<void> {
  if (session.resolution === null && session.providerName !== deps.ramp.name) {
    throw unfit(
      `Nothing can be retried: the session waits for the ramp provider "${session.providerName}", but "${deps.ramp.name}" is configured. ` +
        'Configure that provider again, or decide otherwise.',
    );
  }
  if (session.providerSessionId === null) {
    throw unfit(
      'Nothing can be retried: the ramp provider has no id for the session that is its own, under which tokens could be deposited. ' +
        'Settle it with the provider, then ACCEPT.',
    );
  }
  if (session.depositedAt === null) {
    // The deposit is there, unnoticed until now; or it is owed, because the provider has paid; or there is
    // none.
    if (asAgreed(session, onNetwork)?.status === 'PENDING') {
      await applyEvent(tx, deps.submission, session, 'deposited', { values: DEPOSITED });
    } else if (session.providerStatus === 'settled') await owe(tx, deps, session, mismatch);
    else {
      // A session without its own reason ends for the reason of the review.
      const stateReason = session.stateReason ?? review.flaggedBecause;
      await applyEvent(tx, deps.submission, session, 'retried', {
        values: { endedAt: null, stateReason },
      });
    }
  } else if (session.releasedAt !== null) {
    throw unfit(
      `Nothing is left to retry: the tokens were released${inTransaction(session)}. Settle the difference with the provider, then ACCEPT.`,
    );
  } else {
    if (session.resolution !== null) requireCallable(session, mismatch);
    await applyEvent(tx, deps.submission, session, 'retried');
  }
}

/**
 * Calls go to the contract in use alone, so one for a session of another contract would come back to review.
 * @throws DomainError CONFLICT
 */
function requireCallable({ settlementAddress }: OffRampSession, mismatch: string | null): void {
  if (mismatch === null) return;
  throw unfit(
    `No transaction can be sent for it now: ${mismatch}. Name the session's contract there until the session has ended; ` +
      "or release its deposit with custody's key, then ACCEPT.",
    { settlementAddress },
  );
}

/** Handles a payout without a deposit: custody deposits, or the holder gets time to sign again. */
async function owe(tx: Tx, deps: MoveNeeds, session: OffRampSession, mismatch: string | null): Promise<void> {
  const isUnderWay = await isDepositUnderWay(tx, session);
  if (!isUnderWay) {
    requireCallable(session, mismatch);
    await requireStillFree(tx, deps.network, session);
  }
  // A deposit under way is awaited as long as a new signature.
  const signatureDueAt = sql`now() + make_interval(secs => ${RENEWED_SIGNING_SECONDS})`;
  const values = session.depositor === 'HOLDER' ? { endedAt: null, signatureDueAt } : { endedAt: null };
  await applyEvent(tx, deps.submission, session, 'retried', { values, isUnderWay });
}

function asAgreed(session: OffRampSession, found: OffRampDeposit | null): OffRampDeposit | null {
  return found !== null && isAsAgreed(session, found) ? found : null;
}

/** A holder's deposit can be refunded to its depositor even when it is not what was agreed. */
function refundable(session: OffRampSession, found: OffRampDeposit | null): OffRampDeposit | null {
  return isToBeGivenBack(session, found) ? found : asAgreed(session, found);
}

async function release(
  tx: Tx,
  deps: Needs<'submission'>,
  session: OffRampSession,
  { onNetwork, mismatch }: Seen,
  decision: 'CONFIRM' | 'REFUND',
): Promise<void> {
  const held = decision === 'REFUND' ? refundable(session, onNetwork) : asAgreed(session, onNetwork);
  const resolution = decision === 'CONFIRM' ? 'SETTLE' : 'REFUND';
  if (held?.status !== 'PENDING') {
    throw unfit(
      `There is nothing to ${decision}: the settlement contract shows ${held?.status ?? 'no deposit of this session'}.`,
      { depositStatus: held?.status ?? null },
    );
  }
  if (session.resolution !== null && session.resolution !== resolution) {
    throw unfit(`${session.resolution} was decided before, and a transaction signed for it may still land.`);
  }
  requireUnreleased(session);
  requireCallable(session, mismatch);
  await applyEvent(
    tx,
    deps.submission,
    session,
    decision === 'CONFIRM' ? 'decidedToConfirm' : 'decidedToRefund',
    {
      values: { depositedAt: orNow(offRampSessions.depositedAt) },
    },
  );
}
