/**
 * Handles a provider that refuses to answer about a session, or answers about others. No answer changes nothing;
 * a refusal is final.
 */
import { readDatabaseTime } from '../../../db/databaseTime.ts';
import { DomainError } from '../../../lib/errors.ts';
import { OthersShown, type RampAnswer, type RampSession } from '../../../ramp/port.ts';
import type { Needs } from '../../core/dependencies.ts';
import { applyEvent } from './applyEvent.ts';
import type { OffRampSession } from './findOffRampSession.ts';
import { lockOffRampSession, moveFrom, type OpenedOffRampSession } from './offRampMoves.ts';
import { WAITING_FOR_PROVIDER } from './transitions.ts';

/** How long after the quote's end a provider may first show a session that it was asked for just before. */
export const LATE_SESSION_GRACE_MS = 5 * 60_000;

export function isRejected(error: unknown): error is DomainError {
  return error instanceof DomainError && error.code === 'RAMP_REFUSED';
}

/** Null also when the provider refuses to look: the session ends with its quote, and is looked up later. */
export async function findAtProvider(
  deps: Needs<'ramp'>,
  { id }: OffRampSession,
): Promise<RampSession | null> {
  return deps.ramp.findSessionByReference(id).catch((error: unknown) => {
    if (isRejected(error)) return null;
    throw error;
  });
}

const NOT_SHOWN = 'the provider shows other payouts alone, so it may have this one';

/**
 * Handles the failure of an opening's step. While a provider shows other payouts alone, the session can neither be
 * opened nor end: when it could not be shown late any more, an operator asks the provider, and decides.
 */
export async function orReviewOpening(
  deps: Needs<'db' | 'submission'>,
  session: OffRampSession,
  opening: Promise<void>,
): Promise<void> {
  return opening.catch(async (error: unknown) => {
    if (!(error instanceof OthersShown)) throw error;
    const quoteAgeMs = (await readDatabaseTime(deps.db)).getTime() - session.quoteExpiresAt.getTime();
    if (quoteAgeMs <= LATE_SESSION_GRACE_MS) throw error;
    await moveFrom(deps, session, async (tx, current) => {
      await applyEvent(tx, deps.submission, current, 'undecidable', { reason: NOT_SHOWN });
    });
  });
}

/**
 * A provider that refuses to answer about a session, for example because it has forgotten it, never will: an
 * operator decides. A new session is left alone, because the provider may show it a little later.
 * @returns the answer; null when the session is under review now
 */
export async function orReview(
  deps: Needs<'db' | 'submission'>,
  { id }: OpenedOffRampSession,
  answer: Promise<RampAnswer>,
): Promise<RampAnswer | null> {
  return answer.then(requireAnswerAbout(id)).catch(async (error: unknown) => {
    if (!isRejected(error)) throw error;
    const reason = `the provider does not say what became of its session: ${error.message}`;
    const isReviewed = await deps.db.transaction(async (tx) => {
      const current = await lockOffRampSession(tx, id);
      const isWaiting = WAITING_FOR_PROVIDER.includes(current.state) && !goesOnByItself(current);
      const ageMs = (await readDatabaseTime(tx)).getTime() - current.createdAt.getTime();
      if (!isWaiting || ageMs <= LATE_SESSION_GRACE_MS) return false;
      await applyEvent(tx, deps.submission, current, 'undecidable', { reason });
      return true;
    });
    if (!isReviewed) throw error;
    return null;
  });
}

/**
 * Refuses an answer about another payout: a provider that has lost its newest payouts assigns their ids
 * again, and another payout's end must not decide about this session's tokens.
 */
function requireAnswerAbout(id: string) {
  return (answer: RampAnswer): RampAnswer => {
    if (answer.reference === undefined || answer.reference === id) return answer;
    throw new DomainError('RAMP_REFUSED', "its id is another payout's now");
  };
}

/**
 * Whether the session continues without the provider: the quote's end ends an opening, and the network
 * decides custody's deposit.
 */
function goesOnByItself({ state, depositor }: OffRampSession): boolean {
  return state === 'OPENING' || (state === 'DEPOSITING' && depositor === 'CUSTODY');
}
