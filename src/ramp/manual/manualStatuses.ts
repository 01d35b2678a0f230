/**
 * Statuses of the manual provider's sessions: each change is stored with the person who made it.
 */
import { and, desc, eq, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { manualRampSessions, manualRampStatuses } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { RampStatus } from '../port.ts';

export interface ManualStatusChange {
  status: RampStatus;
  /** The operator; null when the platform closes the session. */
  setBy: string | null;
  /** The reference of the bank or of the mobile money service. */
  paymentReference?: string | null | undefined;
  approvalRequestId?: string | null | undefined;
}

/** @returns false when there is no such session, or when `from` is given and is not the session's status */
export async function changeManualStatus(
  tx: Tx,
  sessionId: string,
  { status, setBy, paymentReference = null, approvalRequestId = null }: ManualStatusChange,
  { at, from }: { at: Date; from?: RampStatus },
): Promise<boolean> {
  const isIt = eq(manualRampSessions.id, sessionId);
  const changed = await tx
    .update(manualRampSessions)
    .set({ status })
    .where(from === undefined ? isIt : and(isIt, eq(manualRampSessions.status, from)))
    .returning({ id: manualRampSessions.id });
  if (changed.length === 0) return false;
  // Counted under the row lock that the update has taken.
  const number = sql`1 + (SELECT count(*)::int FROM ${manualRampStatuses} s WHERE s.session_id = ${sessionId})`;
  await tx
    .insert(manualRampStatuses)
    .values({ sessionId, number, status, setBy, paymentReference, approvalRequestId, setAt: at });
  return true;
}

/**
 * Checks that an operator who is about to pay may do so. The tokens of a session that the platform has closed
 * are given back, and a payout that another person makes, or has made, must not be made twice.
 * @throws DomainError CONFLICT
 */
export async function requirePayable(
  tx: Tx,
  sessionId: string,
  { status, setBy }: ManualStatusChange,
): Promise<void> {
  if (status !== 'pending' && status !== 'processing') return;
  const isIt = eq(manualRampSessions.id, sessionId);
  const [session] = await tx.select().from(manualRampSessions).where(isIt).for('update');
  if (!session || session.status === 'pending') return;
  if (session.status !== 'processing') {
    const end = session.status.toUpperCase();
    throw new DomainError('CONFLICT', `The payout is ${end}, so it must not be made: do not pay.`, {
      field: 'input.sessionId',
      state: end,
    });
  }
  // An operator may take over from a person who has not paid.
  if (status === 'pending') return;
  const last = await readLastStatus(tx, sessionId);
  if (!last || last.setBy === setBy) return;
  throw new DomainError(
    'CONFLICT',
    `${last.setBy} has begun to make the payout: do not pay it a second time.`,
    { field: 'input.sessionId', state: 'PROCESSING' },
  );
}

/** Undefined while the session is as it was opened. */
export async function readLastStatus(
  db: Pick<Db | Tx, 'select'>,
  sessionId: string,
): Promise<typeof manualRampStatuses.$inferSelect | undefined> {
  const [last] = await db
    .select()
    .from(manualRampStatuses)
    .where(eq(manualRampStatuses.sessionId, sessionId))
    .orderBy(desc(manualRampStatuses.number))
    .limit(1);
  return last;
}
