/**
 * Releases that a pause has blocked. While the settlement contract or the token is paused, the network
 * refuses to confirm and to refund. The tokens stay in the settlement contract and the session is under
 * review, so that operators see it. The release continues automatically when the pause is over.
 */
import { and, desc, eq, inArray, sql } from 'drizzle-orm';
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
const MAX_TRIES = 100;

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
  const { length: tries } = await readReleases(tx, session.id);
  if (refusal.reason !== 'PAUSED' || tries >= MAX_TRIES) {
    await applyEvent(tx, deps, session, 'undecidable', { reason });
    return;
  }
  const delayMs = Math.min(PAUSE_POLLS.firstMs * 2 ** tries, PAUSE_POLLS.longestMs);
  await applyEvent(tx, deps, session, 'undecidable', {
    reason: `${reason}. It goes on by itself when the pause is over`,
    values: { dueAt: sql`now() + make_interval(secs => ${delayMs / 1000})` },
  });
}

/** Continues a release that a pause has refused last, when the settlement contract is no longer paused. */
export async function stepUnreleasedReview(
  deps: Needs<'db' | 'network' | 'submission' | 'stateSignal'>,
  { id }: OffRampSession,
): Promise<void> {
  const settlement = await deps.network.settlementContract();
  if (settlement === null || settlement.paused) return;
  await deps.db.transaction(async (tx) => {
    const session = await lockOffRampSession(tx, id);
    if (!isUnreleasedReview(session)) return;
    if (session.settlementAddress !== settlement.address) return;
    const releases = await readReleases(tx, id);
    // A release that is under review itself has no refusal.
    if (releases[0]?.refusalReason !== 'PAUSED' || releases.length >= MAX_TRIES) return;
    await applyEvent(tx, deps.submission, session, 'pauseOver');
  });
  deps.stateSignal.notify(NEW_SUBMISSION);
}

/** The releases that were tried so far, the newest first. The one that is being settled has no refusal yet. */
async function readReleases(tx: Tx, offRampSessionId: string) {
  const { targetId, kind, refusalReason, createdAt } = submissions;
  const kinds = ['confirmOffRampSettlement', 'refundOffRamp'];
  return tx
    .select({ refusalReason })
    .from(submissions)
    .where(and(eq(targetId, offRampSessionId), inArray(kind, kinds)))
    .orderBy(desc(createdAt))
    .limit(MAX_TRIES);
}
