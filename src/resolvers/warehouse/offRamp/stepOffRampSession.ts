/**
 * One step of one off-ramp session: what the provider is asked. What follows from its answer is in transitions.ts.
 *
 *   OPENING          find or open the session at the provider; stopped meanwhile, it is only looked for
 *   CLOSING          make sure that the deposit is not there, then have the session closed
 *   DEPOSITING       one that waits for its turn to deposit takes it when it has come
 *   CLOSED           a session that the provider may have got all the same is looked for by our reference, and closed
 *   NEEDS_REVIEW     a release that only a pause has held up is tried again when the pause is over
 *   elsewhere        the provider's status is recorded; at the end it must not contradict what was done
 *
 * While a holder is to sign the deposit, stepHolderDeposit.ts looks first.
 *
 * A step that is cut off anywhere is simply made again, by any instance: the provider finds the session by our
 * reference, and each move is made once under the session's row lock.
 */
import { sql } from 'drizzle-orm';
import { readDatabaseTime } from '../../../db/databaseTime.ts';
import type { Tx } from '../../../db/connection.ts';
import { updateById } from '../../../db/findByIds.ts';
import { offRampSessions } from '../../../db/tables/index.ts';
import { DomainError } from '../../../lib/errors.ts';
import type { RampSession } from '../../../ramp/port.ts';
import { describeOtherFiat } from '../../../ramp/quotedFiat.ts';
import { applyEvent } from './applyEvent.ts';
import { findAtProvider, isRejected, LATE_SESSION_GRACE_MS, orReview } from './askProvider.ts';
import {
  contradiction,
  isEnd,
  lockOffRampSession,
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
import { hasEnded, isUnreleasedReview, type OffRampSession, type StopReason } from './findOffRampSession.ts';
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

/** @throws DomainError RAMP_UNAVAILABLE, RAMP_REFUSED; NetworkUnavailable: look again later. */
export async function stepOffRampSession(deps: StepNeeds, session: OffRampSession): Promise<void> {
  if (session.state === 'OPENING') await openAtProvider(deps, session);
  else if (session.providerSessionId === null) await findClosed(deps, session);
  else if (session.state === 'CLOSING') await closeAtProvider(deps, requireOpenAtProvider(session));
  else if (
    session.depositor === 'CUSTODY' ||
    !(await stepHolderDeposit(deps, requireOpenAtProvider(session)))
  ) {
    if (session.state === 'DEPOSITING') await stepWaitingDeposit(deps, session);
    // Of a session of another provider only the network can say something.
    if (session.state === 'NEEDS_REVIEW') await observeReviewed(deps, session);
    else if (session.providerName === deps.ramp.name) await observe(deps, requireOpenAtProvider(session));
    // After the provider: a release is not to go on against what it says now.
    if (isUnreleasedReview(session)) await stepUnreleasedReview(deps, session);
  }
}

async function openAtProvider(deps: OpenNeeds, session: OffRampSession): Promise<void> {
  const wasAsked = session.providerAskedAt !== null;
  const quoteAgeMs = (await readDatabaseTime(deps.db)).getTime() - session.quoteExpiresAt.getTime();
  // While the quote lasts it may be asked again, and for a while after that the provider may show what it was asked for.
  const isOver = quoteAgeMs > (wasAsked ? LATE_SESSION_GRACE_MS : 0);
  const isStopped = session.stateReason !== null;
  // A restored copy does not know what was asked for since. Ended unseen, it may be paid, and its kilograms are given away again.
  const found = wasAsked || isOver || isStopped ? await findAtProvider(deps, session) : null;
  if (found && (await storeOpened(deps, session.id, found))) return;
  if (!wasAsked && isStopped) await endOpening(deps, session, 'openingRefused');
  else if (isOver) await endOpening(deps, session, 'openingOver');
  else if (!isStopped && !found && quoteAgeMs <= 0) {
    await openNew(deps, session);
  }
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
    // What it was refused for may come from a request that a restored copy does not know: its own deposit has taken the tokens.
    const found = isOnlyRequest ? null : await findAtProvider(deps, session);
    await refuseOpening(deps, session.id, refusal, { isOnlyRequest, isFound: found !== null });
    if (found !== null) await storeOpened(deps, session.id, found);
  }
}

/** Under the lock: an instance that was slow may hold an old row, and another one may have asked since. */
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
 * A no before any request, or to the only one, is the last word. After another request the session may still show up: it is not
 * asked for again, but looked for by our reference, and closed when it is found.
 * @param isFound whether the provider has it already
 */
async function refuseOpening(
  deps: Needs<'db' | 'submission'>,
  id: string,
  refusal: StopReason,
  { isOnlyRequest, isFound }: { isOnlyRequest: boolean; isFound: boolean },
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const session = await lockOffRampSession(tx, id);
    if (session.state !== 'OPENING') return;
    if (isOnlyRequest || (session.providerAskedAt === null && !isFound)) {
      const values = { ...refusal, endedAt: sql`now()` };
      await applyEvent(tx, deps.submission, session, 'openingRefused', { values });
    } else if (session.stateReason === null) {
      await applyEvent(tx, deps.submission, session, 'openingStopped', { values: refusal });
    }
  });
}

async function endOpening(
  deps: Needs<'db' | 'submission'>,
  { id, providerAskedAt }: OffRampSession,
  event: 'openingRefused' | 'openingOver',
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const session = await lockOffRampSession(tx, id);
    // Asked for by another instance since: the next look waits for what the provider shows.
    if (session.state !== 'OPENING' || (providerAskedAt === null && session.providerAskedAt !== null)) return;
    // It may have been cancelled since it was looked at.
    const reason = session.stateReason === null ? QUOTE_RAN_OUT : {};
    await applyEvent(tx, deps.submission, session, event, { values: { ...reason, endedAt: sql`now()` } });
    await reviewForeign(tx, deps, id);
  });
}

/** @returns whether it is this session's: one that another session has is never stored, and what it was shown for is looked for on. */
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
    // Nothing is deposited for it: it is closed at the provider like one that was refused since.
    if (otherFiat !== null) await stopOpening(tx, deps, before, otherFiat);
    const session = await lockOffRampSession(tx, id);
    if (session.state === 'CLOSED' && session.providerSessionId === null) {
      // Closed while its answer was under way: the look that this makes due closes it there, too.
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

/** From now on it is only looked for, and closed where it is found. */
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

/** Closed by this platform after the provider was asked: if the provider has the session, it is closed there, too. */
async function findClosed(deps: LookNeeds, session: OffRampSession): Promise<void> {
  if (session.state !== 'CLOSED' || session.providerAskedAt === null) return;
  const found = await findAtProvider(deps, session);
  if (found === null || !(await storeOpened(deps, session.id, found))) return;
  const { id } = session;
  const known = await deps.db.transaction((tx) => lockOffRampSession(tx, id));
  await observe(deps, requireOpenAtProvider(known));
}

/** Before a decision moves tokens: the provider's callback may be lost. What it says is kept, whatever becomes of the decision. */
export async function observeReviewed(deps: LookNeeds, session: OffRampSession): Promise<void> {
  const { state, providerName, providerSessionId } = session;
  if (state !== 'NEEDS_REVIEW' || providerName !== deps.ramp.name || providerSessionId === null) return;
  await observe(deps, { ...session, providerSessionId }).catch((error: unknown) => {
    // It has nothing to say of this session: then the operator's decision is all there is.
    if (!isRejected(error)) throw error;
  });
}

async function observe(deps: LookNeeds, session: OpenedOffRampSession): Promise<void> {
  const { state, providerStatus, providerSessionId } = session;
  // What was closed or cancelled must not be paid: the provider is asked to close it until it says that it has.
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
      const reason = 'the provider says that it took the payout back';
      if (status === 'settled') await releasePaid(tx, deps, current, answer);
      else if (status === 'failed') await applyEvent(tx, deps.submission, current, 'notPaid');
      else if (status === 'refunded') await applyEvent(tx, deps.submission, current, 'takenBack', { reason });
      return;
    }
    // An operator who accepted a contradiction is not asked about it again.
    const conflict = isNew && hasEnded(current) ? contradiction(current.state, status) : null;
    if (conflict !== null)
      await applyEvent(tx, deps.submission, current, 'contradicted', { reason: conflict });
  });
}

function quoteOf(session: OffRampSession) {
  return {
    tokenAmount: session.tokenAmountKg,
    tokenSymbol: RECEIPT_TOKEN_SYMBOL,
    fiatCurrency: session.fiatCurrency,
    fiatAmount: session.fiatAmount,
    fiatFee: session.fiatFee,
    feeBps: session.feeBps,
    exchangeRate: session.exchangeRate,
    expiresAt: session.quoteExpiresAt,
  };
}
