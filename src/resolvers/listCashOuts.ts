/**
 * Lists cash-out sessions, newest first: a farmer's own, or all of them for operators.
 */
import { and, eq, or } from 'drizzle-orm';
import { keyset, type KeysetCursor, type KeysetPage } from '../db/keyset.ts';
import { cashOutSessions } from '../db/schema/index.ts';
import type { Dependencies } from './dependencies.ts';
import type { CashOut, CashOutState } from './findCashOut.ts';

export interface CashOutFilter {
  /** Sessions that this subject asked for, or that were asked for on this farmer's behalf. */
  visibleTo?: string | null | undefined;
  receiptId?: string | null | undefined;
  state?: CashOutState | null | undefined;
}

const NEWEST_FIRST = {
  column: cashOutSessions.createdAt,
  id: cashOutSessions.id,
  type: 'timestamptz',
  direction: 'desc',
} as const;

export async function listCashOuts(
  deps: Pick<Dependencies, 'db'>,
  filter: CashOutFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<CashOut[]> {
  const { where, orderBy } = keyset(NEWEST_FIRST, page);
  const { visibleTo, receiptId, state } = filter;
  return deps.db
    .select()
    .from(cashOutSessions)
    .where(
      and(
        where,
        visibleTo == null
          ? undefined
          : or(eq(cashOutSessions.requestedBy, visibleTo), eq(cashOutSessions.farmerId, visibleTo)),
        receiptId == null ? undefined : eq(cashOutSessions.receiptId, receiptId),
        state == null ? undefined : eq(cashOutSessions.state, state),
      ),
    )
    .orderBy(...orderBy)
    .limit(page.limit);
}

export function cashOutCursor(session: CashOut): KeysetCursor {
  return { value: session.createdAt.toISOString(), id: session.id };
}
