/**
 * Custody's deposits, which take turns.
 *
 * Where a deposit needs an allowance, each allowance sets the total of the token that may be taken, and so
 * overwrites the previous one. Custody's allowances and deposits of one receipt therefore run one pair after
 * the other:
 *
 *   DEPOSITING ──no other pair of the receipt is under way──▶ allowance ──▶ deposit ──▶ settled: next turn
 *       └──another pair is: wait
 *
 * A turn is not stored: the session with an allowance or a deposit under way has the turn. This is decided
 * under the receipt's row lock, the last lock to take (lockOffRampSession). A submission that ends a turn
 * finds the next session in the same transaction; the poller finds sessions that were missed.
 */
import { and, asc, eq, inArray, ne, sql } from 'drizzle-orm';
import type { Tx } from '../../../db/connection.ts';
import { lockById, updateById } from '../../../db/findByIds.ts';
import { offRampSessions, receipts, submissions } from '../../../db/tables/index.ts';
import { NEW_SUBMISSION } from '../../../ledger/submission/submission.ts';
import {
  allowanceCall,
  depositCall,
  enqueueCall,
  lockOffRampSession,
  requireOpenAtProvider,
  type MoveDependencies,
  type OpenedOffRampSession,
} from './offRampMoves.ts';
import type { Needs } from '../../core/dependencies.ts';
import { type OffRampSession } from './findOffRampSession.ts';

/** Interval of polls for a missed turn. The end of a turn is normally noticed much sooner. */
const WAITING_POLL_SECONDS = 30;

/** Enqueues the deposit into the settlement contract, for the first time or again. */
export async function enqueueDeposit(
  tx: Tx,
  deps: MoveDependencies,
  session: OpenedOffRampSession,
): Promise<void> {
  if (deps.network.depositsNeedAllowance) await takeTurn(tx, deps, session);
  else await enqueueCall(tx, deps, session.id, depositCall(session));
}

/** Gives a waiting session its turn, if the turn was missed. */
export async function stepWaitingDeposit(
  deps: Needs<'db' | 'submission' | 'stateSignal'>,
  { id }: OffRampSession,
): Promise<void> {
  if (!deps.submission.network.depositsNeedAllowance) return;
  const isTaken = await deps.db.transaction(async (tx) => {
    const session = await lockOffRampSession(tx, id);
    if (session.state !== 'DEPOSITING' || session.depositor === 'HOLDER') return false;
    return takeTurn(tx, deps.submission, requireOpenAtProvider(session));
  });
  if (isTaken) deps.stateSignal.notify(NEW_SUBMISSION);
}

/**
 * Ends the turn of a session whose submission is being settled, and starts the next turn.
 * @param ended the submission's id: its end may not be written yet
 */
export async function passTurn(
  tx: Tx,
  deps: MoveDependencies,
  { receiptId }: OffRampSession,
  ended: string,
): Promise<void> {
  if (!deps.network.depositsNeedAllowance) return;
  await lockById(tx, receipts, receiptId, 'no key update');
  if (await isUnderWay(tx, receiptId, ended)) return;
  const [next] = await tx
    .select()
    .from(offRampSessions)
    .where(
      and(
        eq(offRampSessions.receiptId, receiptId),
        eq(offRampSessions.state, 'DEPOSITING'),
        eq(offRampSessions.depositor, 'CUSTODY'),
      ),
    )
    // Ids are ordered by time.
    .orderBy(asc(offRampSessions.id))
    .limit(1)
    // A transaction that has locked the row may wait for the receipt: its session takes the turn then, or
    // at the poller's next poll.
    .for('update', { skipLocked: true });
  if (next) await enqueueCall(tx, deps, next.id, allowanceCall(requireOpenAtProvider(next)));
}

/**
 * @returns whether the session got its turn now; if not, or if it has its turn already, another poll is due
 */
async function takeTurn(tx: Tx, deps: MoveDependencies, session: OpenedOffRampSession): Promise<boolean> {
  await lockById(tx, receipts, session.receiptId, 'no key update');
  if (await isUnderWay(tx, session.receiptId)) {
    const dueAt = sql`now() + make_interval(secs => ${WAITING_POLL_SECONDS})`;
    await updateById(tx, offRampSessions, session.id, { dueAt });
    return false;
  }
  await enqueueCall(tx, deps, session.id, allowanceCall(session));
  return true;
}

/** Also what waits for an operator: it may still land, and overwrite. */
async function isUnderWay(tx: Tx, receiptId: string, except?: string): Promise<boolean> {
  const [found] = await tx
    .select({ id: submissions.id })
    .from(submissions)
    .innerJoin(offRampSessions, eq(offRampSessions.id, submissions.targetId))
    .where(
      and(
        eq(offRampSessions.receiptId, receiptId),
        inArray(submissions.kind, ['setAllowance', 'depositOffRamp']),
        eq(submissions.signer, 'CUSTODY'),
        inArray(submissions.state, ['PENDING', 'NEEDS_REVIEW']),
        except === undefined ? undefined : ne(submissions.id, except),
      ),
    )
    .limit(1);
  return found !== undefined;
}
