/**
 * receivePayoutHint: a caller says that something changed about a payout. Nothing in it is believed; a
 * session that we know is looked at soon, and one that we don't know costs the provider nothing.
 */
import { sql } from 'drizzle-orm';
import type { Db, Tx } from '../../../db/connection.ts';
import { offRampSessions } from '../../../db/tables/index.ts';
import { isAtProvider } from './findOffRampSession.ts';
import { OFF_RAMP_SESSIONS } from './offRampMoves.ts';
import type { Needs } from '../../core/dependencies.ts';

/** What became of a hint; for the log, never for the sender. */
type HintOutcome = 'noted' | 'unknown-session';

/**
 * Many hints become one look. A hint that comes early, before the deposit is final, is remembered by the status
 * that it makes us record, and by the look that every deposit ends with.
 */
export async function receivePayoutHint(
  deps: Needs<'db' | 'ramp' | 'stateSignal'>,
  providerSessionId: string,
): Promise<HintOutcome> {
  if (!(await noteHint(deps.db, deps.ramp.name, providerSessionId))) return 'unknown-session';
  deps.stateSignal.notify(OFF_RAMP_SESSIONS);
  return 'noted';
}

/** The caller notifies, once it is committed. @returns whether there is such a session */
export async function noteHint(
  db: Pick<Db | Tx, 'update'>,
  providerName: string,
  providerSessionId: string,
): Promise<boolean> {
  const noted = await db
    .update(offRampSessions)
    .set({ dueAt: sql`now()`, hints: sql`${offRampSessions.hints} + 1`, fruitlessSteps: 0 })
    .where(isAtProvider(providerName, providerSessionId))
    .returning({ id: offRampSessions.id });
  return noted.length > 0;
}
