/**
 * One step of one off-ramp session: asks the provider. transitions.ts says what follows from the answer.
 *
 *   OPENING          find or open the session at the provider; if it was stopped meanwhile, only find it
 *   CLOSING          make sure that nothing is deposited, then have the provider close the session
 *   DEPOSITING       take the turn to deposit, if the session waits for its turn and the turn has come
 *   CLOSED           find the session by our reference, in case the provider has opened it; close it
 *   NEEDS_REVIEW     try a release again that only a pause has blocked, when the pause is over
 *   elsewhere        record the provider's status; after the end it must not contradict the outcome
 *
 * For a deposit that a holder signs, stepHolderDeposit.ts runs first.
 *
 * Any instance can repeat an interrupted step: the provider finds the session by our reference, and each move
 * is made once under the session's row lock.
 */
import { sql } from 'drizzle-orm';
import { readDatabaseTime } from '../../../db/databaseTime.ts';
import type { Tx } from '../../../db/connection.ts';
import { updateById } from '../../../db/findByIds.ts';
import { offRampSessions } from '../../../db/tables/index.ts';
import { DomainError } from '../../../lib/errors.ts';
import type { Quote, RampSession } from '../../../ramp/port.ts';
import { describeOtherFiat } from '../../../ramp/quotedFiat.ts';
import { applyEvent } from './applyEvent.ts';
import {
  findAtProvider,
  isRejected,
  LATE_SESSION_GRACE_MS,
  orReview,
  orReviewOpening,
} from './askProvider.ts';
import {
  contradiction,
  describeTakenBack,
  isEnd,
  lockOffRampSession,
  moveFrom,
  requireOpenAtProvider,
  recordStatus,
  type OpenedOffRampSession,
} from './offRampMoves.ts';
import { checkCashOut } from './checkCashOut.ts';
import { closeAtProvider } from './closeAtProvider.ts';
import { isOfAnother, reviewForeign } from './foreignPayout.ts';
import { stepWaitingDeposit } from './custodyDeposits.ts';
import { RECEIPT_TOKEN_SYMBOL } from '../createDeposit.ts';
import type { Needs } from '../../core/dependencies.ts';
import { hasEnded, isUnreleasedReview, requireOffRampSession } from './findOffRampSession.ts';
import type { OffRampSession, StopReason } from './findOffRampSession.ts';
import { stepUnreleasedReview } from './pausedReleases.ts';
import { releasePaid } from './payoutAmount.ts';
import { stepHolderDeposit } from './stepHolderDeposit.ts';

type LookNeeds = Needs<'db' | 'network' | 'ramp' | 'submission'>;
type OpenNeeds = Needs<keyof LookNeeds | 'payoutAccounts'>;
export type StepNeeds = Needs<keyof OpenNeeds | 'stateSignal'>;

const QUOTE_RAN_OUT: StopReason = {
  refusalCode: 'RAMP_UNAVAILABLE',
  stateReason: 'the quote ran out before the provider could be reached',
};
const FAILED_AT_ONCE: StopReason = {
  refusalCode: 'RAMP_REFUSED',
  stateReason: 'the provider failed the payout as soon as it was opened',
};
const OF_ANOTHER = 'the provider answered with the payout of another cash-out';

/** @throws DomainError RAMP_UNAVAILABLE, RAMP_REFUSED; NetworkUnavailable: poll again later. */
export async function stepOffRampSession(deps: StepNeeds, session: OffRampSession): Promise<void> {
  if (session.state === 'OPENING') await orReviewOpening(deps, session, openAtProvider(deps, session));
  else if (session.providerSessionId === null) await findClosed(deps, session);
  else if (session.state === 'CLOSING') await closeAtProvider(deps, requireOpenAtProvider(session));
  else if (
    session.depositor === 'CUSTODY' ||
    !(await stepHolderDeposit(deps, requireOpenAtProvider(session)))
  ) {
    if (session.state === 'DEPOSITING') await stepWaitingDeposit(deps, session);
    // A session of another provider is not observed: the configured provider does not know it.
    if (session.state === 'NEEDS_REVIEW') await observeReviewed(deps, session);
    else if (session.providerName === deps.ramp.name) await observe(deps, requireOpenAtProvider(session));
    // The provider comes first: a release must not go on against the provider's newest status.
    if (isUnreleasedReview(session)) await stepUnreleasedReview(deps, session);
  }
}

async function openAtProvider(deps: OpenNeeds, session: OffRampSession): Promise<void> {
  const wasAsked = session.providerAskedAt !== null;
  const quoteAgeMs = (await readDatabaseTime(deps.db)).getTime() - session.quoteExpiresAt.getTime();
  // While the quote lasts, the provider may be asked again. For some time afterwards the provider may still
  // show the session that it was asked for.
  const isOver = quoteAgeMs > (wasAsked ? LATE_SESSION_GRACE_MS : 0);
  const isStopped = session.stateReason !== null;
  // A restored database does not know later requests. Without this look-up, the provider may pay a session
  // that has ended here, while its kilograms are free for another one.
  const found = wasAsked || isOver || isStopped ? await findAtProvider(deps, session) : null;
  if (found && (await storeOpened(deps, session.id, found))) return;
  if ((!wasAsked && isStopped) || isOver) await endOpening(deps, session);
  else if (!isStopped && !found && quoteAgeMs <= 0) await openNew(deps, session);
}

async function openNew(deps: OpenNeeds, session: OffRampSession): Promise<void> {
  let isOnlyRequest = false;
  try {
    await checkCashOut(deps, session);
    const payoutAccount = deps.payoutAccounts.unseal(session);
    const intended = await intendToAsk(deps, session.id);
    if (intended === 'stopped') return;
    isOnlyRequest = intended === 'first';
    const rampSession = await deps.ramp.openSession({
      reference: session.id,
      quote: quoteOf(session),
      countryCode: session.countryCode,
      payoutAccount,
    });
    await storeOpened(deps, session.id, rampSession);
  } catch (error) {
    if (!(error instanceof DomainError) || error.code === 'RAMP_UNAVAILABLE') throw error;
    const refusal = { refusalCode: error.code, stateReason: error.message };
    // A restored database may not know an earlier request: the reason for the refusal may be that request's
    // own deposit, which has taken the tokens.
    const found = isOnlyRequest ? null : await findAtProvider(deps, session);
    await refuseOpening(deps, session, refusal, { isOnlyRequest, isFound: found !== null });
    if (found !== null) await storeOpened(deps, session.id, found);
  }
}

/** Stores the intent to ask, under the lock: the row may be old, and another instance may have asked. */
async function intendToAsk(deps: Needs<'db'>, id: string): Promise<'first' | 'again' | 'stopped'> {
  return deps.db.transaction(async (tx) => {
    const { state, stateReason, providerAskedAt } = await lockOffRampSession(tx, id);
    if (state !== 'OPENING' || stateReason !== null) return 'stopped';
    if (providerAskedAt !== null) return 'again';
    await updateById(tx, offRampSessions, id, { providerAskedAt: sql`now()` });
    return 'first';
  });
}

/**
 * Handles a refusal. A refusal before any request, or of the only request, is final. If there were other
 * requests, the session may still show up: it is not requested again, but looked up by our reference, and
 * closed when it is found.
 * @param isFound whether the provider has the session already
 */
async function refuseOpening(
  deps: Needs<'db' | 'submission'>,
  session: OffRampSession,
  refusal: StopReason,
  { isOnlyRequest, isFound }: { isOnlyRequest: boolean; isFound: boolean },
): Promise<void> {
  await moveFrom(deps, session, async (tx, current) => {
    if (isOnlyRequest || (current.providerAskedAt === null && !isFound)) {
      await closeOpening(tx, deps, current, refusal);
    } else if (current.stateReason === null) {
      await applyEvent(tx, deps.submission, current, 'openingStopped', { values: refusal });
    }
  });
}

async function endOpening(deps: Needs<'db' | 'submission'>, session: OffRampSession): Promise<void> {
  await moveFrom(deps, session, async (tx, current) => {
    // Another instance has asked since: the next poll waits for the provider to show the session.
    if (session.providerAskedAt === null && current.providerAskedAt !== null) return;
    await closeOpening(tx, deps, current, QUOTE_RAN_OUT);
    await reviewForeign(tx, deps, session.id);
  });
}

/** @param reason unless the session was stopped before: it may have been cancelled since it was looked at */
async function closeOpening(
  tx: Tx,
  deps: Needs<'submission'>,
  session: OffRampSession,
  reason: StopReason,
): Promise<void> {
  const values = { ...(session.stateReason === null && reason), endedAt: sql`now()` };
  await applyEvent(tx, deps.submission, session, 'openingEnded', { values });
}

/** @returns false when another session has this provider session: it is not stored, and look-ups go on */
async function storeOpened(
  deps: Needs<'db' | 'submission'>,
  id: string,
  rampSession: RampSession,
): Promise<boolean> {
  const { sessionId: providerSessionId, status } = rampSession;
  const opened = {
    providerSessionId,
    providerAskedAt: sql`coalesce(${offRampSessions.providerAskedAt}, now())`,
  };
  return deps.db.transaction(async (tx) => {
    const before = await lockOffRampSession(tx, id);
    // Another instance was faster.
    if (before.providerSessionId !== null) return true;
    if (await isOfAnother(tx, before, providerSessionId)) {
      await stopOpening(tx, deps, before, OF_ANOTHER);
      await recordStatus(tx, before, status);
      await reviewForeign(tx, deps, id);
      return false;
    }
    const otherFiat = describeOtherFiat(before, rampSession);
    // Nothing is deposited for another amount: the session is closed at the provider, like a refused one.
    if (otherFiat !== null) await stopOpening(tx, deps, before, otherFiat);
    const session = otherFiat === null ? before : await lockOffRampSession(tx, id);
    if (session.state === 'CLOSED' && session.providerSessionId === null) {
      // Closed while the answer was under way: the poll that is now due closes the session there, too.
      await applyEvent(tx, deps.submission, session, 'opened', {
        values: { ...opened, dueAt: sql`now()` },
      });
      return true;
    }
    if (session.state !== 'OPENING') return true;
    await recordStatus(tx, session, status);
    if (status === 'failed' && session.stateReason === null) {
      await applyEvent(tx, deps.submission, session, 'providerFailed', {
        values: { ...opened, ...FAILED_AT_ONCE },
      });
    } else await applyEvent(tx, deps.submission, session, 'opened', { values: opened });
    return true;
  });
}

/** Stops the opening: from now on the session is only looked up at the provider, and closed if found. */
async function stopOpening(
  tx: Tx,
  deps: Needs<'submission'>,
  session: OffRampSession,
  stateReason: string,
): Promise<void> {
  if (session.state !== 'OPENING' || session.stateReason !== null) return;
  const values: StopReason = { refusalCode: 'RAMP_REFUSED', stateReason };
  await applyEvent(tx, deps.submission, session, 'openingStopped', { values });
}

/**
 * Looks up a session that this platform closed after it had asked the provider: if the provider has the
 * session, it is closed there, too.
 */
async function findClosed(deps: LookNeeds, session: OffRampSession): Promise<void> {
  if (session.state !== 'CLOSED' || session.providerAskedAt === null) return;
  const found = await findAtProvider(deps, session);
  if (found === null || !(await storeOpened(deps, session.id, found))) return;
  const known = await requireOffRampSession(deps, session.id);
  await observe(deps, requireOpenAtProvider(known));
}

/**
 * Asks the provider before a decision moves tokens: its callback may be lost. The status is kept in any case.
 */
export async function observeReviewed(deps: LookNeeds, session: OffRampSession): Promise<void> {
  const { state, providerName, providerSessionId } = session;
  if (state !== 'NEEDS_REVIEW' || providerName !== deps.ramp.name || providerSessionId === null) return;
  await observe(deps, { ...session, providerSessionId }).catch((error: unknown) => {
    // The provider refuses to answer about this session, so the operator decides without its answer.
    if (!isRejected(error)) throw error;
  });
}

async function observe(deps: LookNeeds, session: OpenedOffRampSession): Promise<void> {
  const { state, providerStatus, providerSessionId } = session;
  // A closed or cancelled session must not be paid: the provider is asked to close it until it has ended.
  const isToBeClosed =
    state === 'CLOSED' || (state === 'AWAITING_PAYOUT' && session.cancelRequestedAt !== null);
  const asked =
    isToBeClosed && !isEnd(providerStatus)
      ? deps.ramp.closeSession(providerSessionId)
      : deps.ramp.getStatus(providerSessionId);
  const answer = await orReview(deps, session, asked);
  if (answer === null) return;
  const { status } = answer;
  await deps.db.transaction(async (tx) => {
    const current = await lockOffRampSession(tx, session.id);
    const isNew = await recordStatus(tx, current, status);
    if (current.state === 'AWAITING_PAYOUT') {
      const takenBack = await describeTakenBack(tx, current, status);
      if (takenBack !== null)
        await applyEvent(tx, deps.submission, current, 'undecidable', { reason: takenBack });
      else if (status === 'settled') await releasePaid(tx, deps, current, answer);
      else if (status === 'failed') await applyEvent(tx, deps.submission, current, 'notPaid');
      return;
    }
    // An operator who accepted a contradiction is not asked about it again.
    const conflict = isNew && hasEnded(current) ? contradiction(current.state, status) : null;
    if (conflict !== null)
      await applyEvent(tx, deps.submission, current, 'undecidable', { reason: conflict });
  });
}

function quoteOf(session: OffRampSession): Quote {
  const { fiatCurrency, fiatAmount, fiatFee, feeBps, exchangeRate } = session;
  return {
    tokenAmount: session.tokenAmountKg,
    tokenSymbol: RECEIPT_TOKEN_SYMBOL,
    fiatCurrency,
    fiatAmount,
    fiatFee,
    feeBps,
    exchangeRate,
    expiresAt: session.quoteExpiresAt,
  };
}
