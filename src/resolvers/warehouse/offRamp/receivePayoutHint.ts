/**
 * receivePayoutHint: a caller says that something changed about a payout. The content is not trusted. A known
 * session is looked at soon; an unknown one causes no request to the provider.
 */
import type { Db, Tx } from '../../../db/connection.ts';
import { offRampSessions } from '../../../db/tables/index.ts';
import { isAtProvider } from './findOffRampSession.ts';
import { HINT, OFF_RAMP_SESSIONS } from './offRampMoves.ts';
import type { Needs } from '../../core/dependencies.ts';

/** The outcome of a hint: for the log, never for the sender. */
type HintOutcome = 'noted' | 'unknown-session';

/**
 * Several hints cause one poll. A hint that comes before the deposit is final is not lost: its poll records
 * the provider's status, and every deposit ends with another poll.
 */
export async function receivePayoutHint(
  deps: Needs<'db' | 'ramp' | 'stateSignal'>,
  providerSessionId: string,
): Promise<HintOutcome> {
  if (!(await noteHint(deps.db, deps.ramp.name, providerSessionId))) return 'unknown-session';
  deps.stateSignal.notify(OFF_RAMP_SESSIONS);
  return 'noted';
}

/** Makes the session due. The caller notifies after the commit. @returns whether there is such a session */
export async function noteHint(
  db: Pick<Db | Tx, 'update'>,
  providerName: string,
  providerSessionId: string,
): Promise<boolean> {
  const noted = await db
    .update(offRampSessions)
    .set(HINT)
    .where(isAtProvider(providerName, providerSessionId))
    .returning({ id: offRampSessions.id });
  return noted.length > 0;
}
