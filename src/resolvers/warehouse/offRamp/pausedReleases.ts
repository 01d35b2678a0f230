/**
 * Releases that a pause has blocked. While the settlement contract or the token is paused, the network
 * refuses to confirm and to refund. The tokens stay in the settlement contract and the session is under
 * review, so that operators see it. The release continues automatically when the pause is over.
 */
import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Tx } from '../../../db/connection.ts';
import { submissions } from '../../../db/tables/index.ts';
import type { Refusal } from '../../../ledger/network/port.ts';
import { NEW_SUBMISSION } from '../../../ledger/submission/submission.ts';
import { applyEvent } from './applyEvent.ts';
import { lockOffRampSession, type MoveDependencies } from './offRampMoves.ts';
import type { Needs } from '../../core/dependencies.ts';
import { isUnreleasedReview, type OffRampSession } from './findOffRampSession.ts';
import { PAUSE_POLLS } from './schedules.ts';

/** About a day of tries, each of which leaves a refused submission; after that an operator decides. */
const MAX_PAUSED_REFUSALS = 100;

/**
 * For a release that the network refused, or an operator ended. Call it in the transaction that settles it.
 */
export async function releaseRefused(
  tx: Tx,
  deps: MoveDependencies,
  session: OffRampSession,
  what: 'confirm' | 'refund',
  refusal: Refusal,
): Promise<void> {
  const reason = `the ${what} was refused: ${refusal.message}`;
  const refusals = await readRefusals(tx, session.id);
  if (refusal.reason !== 'PAUSED' || refusals.length >= MAX_PAUSED_REFUSALS) {
    await applyEvent(tx, deps, session, 'undecidable', { reason });
    return;
  }
  const delayMs = Math.min(PAUSE_POLLS.firstMs * 2 ** refusals.length, PAUSE_POLLS.longestMs);
  await applyEvent(tx, deps, session, 'undecidable', {
    reason: `${reason}. It goes on by itself when the pause is over`,
    values: { dueAt: sql`now() + make_interval(secs => ${delayMs / 1000})` },
  });
}

/** Continues a release that only pauses have refused, when the settlement contract is no longer paused. */
export async function stepUnreleasedReview(
  deps: Needs<'db' | 'network' | 'submission' | 'stateSignal'>,
  { id }: OffRampSession,
): Promise<void> {
  const settlement = await deps.network.settlementContract();
  if (settlement === null || settlement.paused) return;
  await deps.db.transaction(async (tx) => {
    const session = await lockOffRampSession(tx, id);
    if (!isUnreleasedReview(session) || session.resolution === null) return;
    if (session.settlementAddress !== settlement.address) return;
    const refusals = await readRefusals(tx, id);
    const isByPauses = refusals.every(({ state, reason }) => state === 'REFUSED' && reason === 'PAUSED');
    if (!isByPauses || refusals.length === 0 || refusals.length > MAX_PAUSED_REFUSALS) return;
    await applyEvent(tx, deps.submission, session, 'pauseOver');
  });
  deps.stateSignal.notify(NEW_SUBMISSION);
}

/** Outcomes of the releases that were tried so far, in no order. */
async function readRefusals(tx: Tx, offRampSessionId: string) {
  const { targetId, kind, state, refusalReason: reason } = submissions;
  const kinds = ['confirmOffRampSettlement', 'refundOffRamp'];
  return tx
    .select({ state, reason })
    .from(submissions)
    .where(and(eq(targetId, offRampSessionId), inArray(kind, kinds)))
    .limit(MAX_PAUSED_REFUSALS + 1);
}
