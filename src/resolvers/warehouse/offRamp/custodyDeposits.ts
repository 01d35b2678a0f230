/**
 * Custody's deposits, and whose turn it is.
 *
 * Where a deposit needs an allowance, that says how much of the token may be taken in all, and so overwrites the one
 * before. Custody's allowances and deposits of one receipt therefore go one pair after the other:
 *
 *   DEPOSITING ──no other pair of the receipt is under way──▶ allowance ──▶ deposit ──▶ settled, and it is the next one's turn
 *       └──one is: wait
 *
 * A turn is no state of its own: the session with an allowance or a deposit under way has it. That is decided under the
 * receipt's row lock, which comes last of all (lockOffRampSession). The next session is found where a submission ends a
 * turn, in the same transaction; the poller finds who was missed there.
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

/** The end of a turn is noticed much faster; this is for what was missed. */
const WAITING_LOOK_SECONDS = 30;

/** The tokens are to go to the settlement contract, for the first time or again. */
export async function enqueueDeposit(
  tx: Tx,
  deps: MoveDependencies,
  session: OpenedOffRampSession,
): Promise<void> {
  if (deps.network.depositsNeedAllowance) await takeTurn(tx, deps, session);
  else await enqueueCall(tx, deps, session.id, depositCall(session));
}

/** One that waits for its turn, and may have been missed when it came. */
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
 * The submission ends the turn of its session; called where it is settled.
 * @param ended its id, as it may not be written yet that it is over
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
    // Ids follow time.
    .orderBy(asc(offRampSessions.id))
    .limit(1)
    // Who holds it may wait for the receipt; it takes its turn then, or at the poller's next look.
    .for('update', { skipLocked: true });
  if (next) await enqueueCall(tx, deps, next.id, allowanceCall(requireOpenAtProvider(next)));
}

/** @returns whether it is its turn now; another look is due otherwise, and when it has it already. */
async function takeTurn(tx: Tx, deps: MoveDependencies, session: OpenedOffRampSession): Promise<boolean> {
  await lockById(tx, receipts, session.receiptId, 'no key update');
  if (await isUnderWay(tx, session.receiptId)) {
    const dueAt = sql`now() + make_interval(secs => ${WAITING_LOOK_SECONDS})`;
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
