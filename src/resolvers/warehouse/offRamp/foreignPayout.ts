/**
 * Handles a payout under our reference whose id is another session's: a provider that has lost its newest
 * payouts assigns their ids again.
 */
import { and, ne } from 'drizzle-orm';
import type { Tx } from '../../../db/connection.ts';
import { offRampSessions } from '../../../db/tables/index.ts';
import type { Needs } from '../../core/dependencies.ts';
import { applyEvent } from './applyEvent.ts';
import { isAtProvider, type OffRampSession } from './findOffRampSession.ts';
import { contradiction, isAcknowledged, lockOffRampSession } from './offRampMoves.ts';

export async function isOfAnother(
  tx: Tx,
  { id, providerName }: OffRampSession,
  sessionId: string,
): Promise<boolean> {
  const isIt = and(isAtProvider(providerName, sessionId), ne(offRampSessions.id, id));
  return (await tx.$count(offRampSessions, isIt)) > 0;
}

/**
 * Puts an ended session under review, once, if the provider pays it under another session's id: nothing can
 * be deposited or closed under that id.
 */
export async function reviewForeign(tx: Tx, deps: Needs<'submission'>, id: string): Promise<void> {
  const session = await lockOffRampSession(tx, id);
  if (session.state !== 'CLOSED') return;
  const reason = contradiction(session.state, session.providerStatus);
  if (reason === null || (await isAcknowledged(tx, id))) return;
  await applyEvent(tx, deps.submission, session, 'undecidable', { reason });
}
