/**
 * The manual provider's sessions and their statuses: each change is stored with the person who made it.
 */
import { desc, eq, getTableColumns, sql, type SQL } from 'drizzle-orm';
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

export type ManualSession = NonNullable<Awaited<ReturnType<typeof findManualSession>>>;

/** The session with its last status; with `pending`, under number 0, while it is as it was opened. */
export async function findManualSession(db: Pick<Db | Tx, 'select'>, isIt: SQL) {
  const last = db
    .select()
    .from(manualRampStatuses)
    .where(eq(manualRampStatuses.sessionId, manualRampSessions.id))
    .orderBy(desc(manualRampStatuses.number))
    .limit(1)
    .as('last');
  const [session] = await db
    .select({
      ...getTableColumns(manualRampSessions),
      status: sql<RampStatus>`coalesce(${last.status}, 'pending')`,
      number: sql<number>`coalesce(${last.number}, 0)`,
      setBy: last.setBy,
      paymentReference: last.paymentReference,
    })
    .from(manualRampSessions)
    .leftJoinLateral(last, sql`true`)
    .where(isIt);
  return session;
}

/** Until the transaction ends, no other one adds a status to the session. */
export async function lockManualSession(tx: Tx, sessionId: string): Promise<ManualSession | undefined> {
  const isIt = eq(manualRampSessions.id, sessionId);
  await tx.select({ id: manualRampSessions.id }).from(manualRampSessions).where(isIt).for('update');
  // A statement of its own: it sees the status that the lock's last holder has added.
  return findManualSession(tx, isIt);
}

/** @param session locked */
export async function addManualStatus(
  tx: Tx,
  { id: sessionId, number }: ManualSession,
  change: ManualStatusChange,
  setAt: Date,
): Promise<void> {
  await tx.insert(manualRampStatuses).values({ ...change, sessionId, number: number + 1, setAt });
}

/**
 * Checks that an operator who is about to pay may do so. The tokens of a session that the platform has closed
 * are given back, and a payout that another person makes, or has made, must not be made twice.
 * @param session locked
 * @throws DomainError CONFLICT
 */
export function requirePayable(session: ManualSession, { status, setBy }: ManualStatusChange): void {
  if (status !== 'pending' && status !== 'processing') return;
  if (session.status === 'pending') return;
  if (session.status !== 'processing') {
    const end = session.status.toUpperCase();
    throw new DomainError('CONFLICT', `The payout is ${end}, so it must not be made: do not pay.`, {
      field: 'input.sessionId',
      state: end,
    });
  }
  // An operator may take over from a person who has not paid.
  if (status === 'pending' || session.setBy === setBy) return;
  throw new DomainError(
    'CONFLICT',
    `${session.setBy} has begun to make the payout: do not pay it a second time.`,
    { field: 'input.sessionId', state: 'PROCESSING' },
  );
}
