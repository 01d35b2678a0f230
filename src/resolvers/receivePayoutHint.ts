/**
 * receivePayoutHint: somebody says that something changed about a payout. Nothing that they say is believed; a
 * session that we know is looked at soon, and one that we don't know costs the provider nothing.
 */
import { eq, sql } from 'drizzle-orm';
import { cashOutSessions } from '../db/schema/index.ts';
import { CASH_OUTS } from './cashOutMoves.ts';
import type { Dependencies } from './dependencies.ts';
import { findCashOutAtProvider } from './findCashOut.ts';

/** What became of a hint; for the log, never for the sender. */
export type HintOutcome = 'noted' | 'unknown-session';

/**
 * Many hints become one look. A hint that comes early, before the deposit is final, is remembered by the status
 * that it makes us record, and by the look that every deposit ends with.
 */
export async function receivePayoutHint(deps: Dependencies, providerSessionId: string): Promise<HintOutcome> {
  const session = await findCashOutAtProvider(deps, providerSessionId);
  if (!session) return 'unknown-session';
  await deps.db
    .update(cashOutSessions)
    .set({ dueAt: sql`now()`, hints: sql`${cashOutSessions.hints} + 1`, fruitlessSteps: 0 })
    .where(eq(cashOutSessions.id, session.id));
  deps.subjects.ring(CASH_OUTS);
  return 'noted';
}
