/**
 * What becomes of a session when its provider refuses to answer about it. Without an answer nothing changes; a refusal is final.
 */
import { readDatabaseTime } from '../../../db/databaseTime.ts';
import { DomainError } from '../../../lib/errors.ts';
import type { RampAnswer, RampSession } from '../../../ramp/port.ts';
import type { Needs } from '../../core/dependencies.ts';
import { applyEvent } from './applyEvent.ts';
import type { OffRampSession } from './findOffRampSession.ts';
import { lockOffRampSession, type OpenedOffRampSession } from './offRampMoves.ts';
import { WAITING_FOR_PROVIDER } from './transitions.ts';

/** A provider that was asked just before the quote ran out may show the session a little later. */
export const LATE_SESSION_GRACE_MS = 5 * 60_000;

export function isRejected(error: unknown): error is DomainError {
  return error instanceof DomainError && error.code === 'RAMP_REFUSED';
}

/** Null also when the provider refuses to look: such a session ends in time, and is looked for afterwards. */
export async function findAtProvider(
  deps: Needs<'ramp'>,
  { id }: OffRampSession,
): Promise<RampSession | null> {
  return deps.ramp.findSessionByReference(id).catch((error: unknown) => {
    if (isRejected(error)) return null;
    throw error;
  });
}

/**
 * A provider that refuses to answer about a session, such as one that it has forgotten, never will: an operator decides. It may
 * show a new one a little later.
 * @returns null when it is under review now
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

/** A provider that has lost its newest payouts gives their ids away again: another payout's end must not decide about this one's tokens. */
function requireAnswerAbout(id: string) {
  return (answer: RampAnswer): RampAnswer => {
    if (answer.reference === undefined || answer.reference === id) return answer;
    throw new DomainError('RAMP_REFUSED', "its id is another payout's now");
  };
}

/** The quote's end ends an opening, and the network's word a deposit of custody. */
function goesOnByItself({ state, depositor }: OffRampSession): boolean {
  return state === 'OPENING' || (state === 'DEPOSITING' && depositor === 'CUSTODY');
}
