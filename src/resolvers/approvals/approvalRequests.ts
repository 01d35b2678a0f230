/**
 * Requests for approval: how they are stored and listed.
 *
 *   AWAITING ──another person approves──▶ APPROVED, with the operation's effect in one transaction
 *       ├──another person refuses──▶ REFUSED
 *       ├──its requester withdraws it──▶ WITHDRAWN
 *       └──its time is up, by the database's clock──▶ EXPIRED
 */
import { and, eq, getTableColumns, gt, lte, or, sql, type SQL } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { isAmong, isWithin, matching, type FilterOf } from '../../db/conditions.ts';
import { DATABASE_NOW } from '../../db/databaseTime.ts';
import { countRows, keyset, type KeysetCursor, type KeysetOrder, type PageSource } from '../../db/keyset.ts';
import { approvalRequests } from '../../db/tables/index.ts';
import { decodeExact } from '../../ledger/submission/exactJson.ts';
import type { CreateProjectInput } from '../carbon/createProject.ts';
import type { Needs } from '../core/dependencies.ts';
import type { ResolveSubmissionReviewInput } from '../operations/resolveSubmissionReview.ts';
import type { SessionReviewInput } from '../operations/resolveOffRampSessionReview.ts';
import type { ResumeSigningInput } from '../operations/resumeSigning.ts';
import type { ManualStatusInput } from '../operations/setManualSessionStatus.ts';
import type { CreateDepositInput } from '../warehouse/createDeposit.ts';

/** The input of each operation. */
export interface ApprovalInputs {
  createProject: CreateProjectInput;
  createDeposit: CreateDepositInput;
  resolveSubmissionReview: ResolveSubmissionReviewInput;
  resolveOffRampSessionReview: SessionReviewInput;
  resumeSigning: ResumeSigningInput;
  setManualSessionStatus: ManualStatusInput;
}

export type ApprovalOperation = keyof ApprovalInputs;

/** One operation with its input. */
export type AskedOperation = {
  [Operation in ApprovalOperation]: { operation: Operation; input: ApprovalInputs[Operation] };
}[ApprovalOperation];

type ApprovalState = 'AWAITING' | 'APPROVED' | 'REFUSED' | 'WITHDRAWN' | 'EXPIRED';

type StoredRequest = typeof approvalRequests.$inferSelect;
export type ApprovalRequest = Omit<StoredRequest, 'state'> & { state: ApprovalState };

const isExpired = and(eq(approvalRequests.state, 'AWAITING'), lte(approvalRequests.expiresAt, DATABASE_NOW));
export const isOpen = and(
  eq(approvalRequests.state, 'AWAITING'),
  gt(approvalRequests.expiresAt, DATABASE_NOW),
);

const state = sql<ApprovalState>`CASE WHEN ${isExpired} THEN 'EXPIRED' ELSE ${approvalRequests.state}::text END`;

function select(db: Pick<Db, 'select'>) {
  return db.select({ ...getTableColumns(approvalRequests), state }).from(approvalRequests);
}

export async function findApprovalRequest(
  { db }: { db: Pick<Db | Tx, 'select'> },
  id: string,
): Promise<ApprovalRequest | null> {
  const [found] = await select(db).where(eq(approvalRequests.id, id));
  return found ?? null;
}

/** Finds the request that awaits approval of the same operation on the same target. */
export async function findOpenRequest(
  tx: Tx,
  { operation, targetId }: Pick<StoredRequest, 'operation' | 'targetId'>,
): Promise<ApprovalRequest | null> {
  const isSame = and(
    eq(approvalRequests.operation, operation),
    sql`${approvalRequests.targetId} IS NOT DISTINCT FROM ${targetId}::uuid`,
  );
  const [found] = await select(tx).where(and(isOpen, isSame));
  return found ?? null;
}

export function askedOf(request: Pick<StoredRequest, 'operation' | 'input'>): AskedOperation {
  return { operation: request.operation, input: decodeExact(request.input) } as AskedOperation;
}

const NEWEST_FIRST: KeysetOrder = {
  column: approvalRequests.requestedAt,
  id: approvalRequests.id,
  type: 'timestamptz',
  direction: 'desc',
};

const FILTER = {
  states: (states: readonly ApprovalState[]) => or(sql`false`, ...states.map(isInState)),
  operations: isAmong(approvalRequests.operation),
  requesters: isAmong(approvalRequests.requestedBy),
  ...isWithin(approvalRequests.requestedAt),
};

export function listApprovalRequests(
  { db }: Needs<'db'>,
  filter: FilterOf<typeof FILTER>,
): PageSource<ApprovalRequest, KeysetCursor> {
  const isMeant = matching(FILTER, filter, null);
  return {
    async list(page) {
      const { where, orderBy } = keyset(NEWEST_FIRST, page);
      return select(db)
        .where(and(where, isMeant))
        .orderBy(...orderBy)
        .limit(page.limit);
    },
    cursorOf: ({ requestedAt, id }) => ({ value: requestedAt.toISOString(), id }),
    count: () => countRows(db, approvalRequests, isMeant),
  };
}

function isInState(wanted: ApprovalState): SQL | undefined {
  if (wanted === 'AWAITING') return isOpen;
  return wanted === 'EXPIRED' ? isExpired : eq(approvalRequests.state, wanted);
}
