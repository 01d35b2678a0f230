/**
 * Lists warehouse receipts, newest first.
 */
import { and, eq, inArray, lt, or, sql, type SQL } from 'drizzle-orm';
import { countRows, keyset, type KeysetCursor, type KeysetPage } from '../../db/keyset.ts';
import { receipts } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Receipt } from './findReceipt.ts';

/** Which receipts a caller may see. */
export interface ReceiptSight {
  /** Receipts of this farmer; null for no farmer's. */
  farmerId: string | null;
  warehouseIds: readonly string[];
}

interface ReceiptFilter {
  /** Null sees all. */
  visibleTo?: ReceiptSight | null | undefined;
  farmerId?: string | null | undefined;
  farmerAddress?: string | null | undefined;
  warehouseId?: string | null | undefined;
  state?: Receipt['state'] | null | undefined;
  /** Unix seconds: receipts whose expiry date is earlier. */
  expiringBefore?: bigint | null | undefined;
}

const NEWEST_FIRST = {
  column: receipts.createdAt,
  id: receipts.id,
  type: 'timestamptz',
  direction: 'desc',
} as const;

export async function listReceipts(
  deps: Needs<'db'>,
  filter: ReceiptFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<Receipt[]> {
  const { where, orderBy } = keyset(NEWEST_FIRST, page);
  return deps.db
    .select()
    .from(receipts)
    .where(and(where, matching(filter)))
    .orderBy(...orderBy)
    .limit(page.limit);
}

export function countReceipts(deps: Needs<'db'>, filter: ReceiptFilter): Promise<number> {
  return countRows(deps.db, receipts, matching(filter));
}

function matching(filter: ReceiptFilter): SQL | undefined {
  const { visibleTo, farmerId, farmerAddress, warehouseId, state, expiringBefore } = filter;
  return and(
    visibleTo == null ? undefined : withinSight(visibleTo),
    farmerId == null ? undefined : eq(receipts.farmerId, farmerId),
    farmerAddress == null ? undefined : eq(receipts.farmerAddress, farmerAddress),
    warehouseId == null ? undefined : eq(receipts.warehouseId, warehouseId),
    state == null ? undefined : eq(receipts.state, state),
    expiringBefore == null ? undefined : lt(receipts.expiryDate, expiringBefore),
  );
}

function withinSight({ farmerId, warehouseIds }: ReceiptSight): SQL | undefined {
  return or(
    farmerId === null ? sql`false` : eq(receipts.farmerId, farmerId),
    warehouseIds.length === 0 ? sql`false` : inArray(receipts.warehouseId, [...warehouseIds]),
  );
}

export function receiptCursor(receipt: Receipt): KeysetCursor {
  return { value: receipt.createdAt.toISOString(), id: receipt.id };
}
