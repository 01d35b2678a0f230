/**
 * Lists warehouse receipts, newest first: a farmer's own, a warehouse's, those that expire soon.
 */
import { and, eq, inArray, lt, or, sql, type SQL } from 'drizzle-orm';
import { keyset, type KeysetCursor, type KeysetPage } from '../db/keyset.ts';
import { receipts } from '../db/schema/index.ts';
import type { Dependencies } from './dependencies.ts';
import type { Receipt } from './findReceipt.ts';

/** Whose receipts a caller may see. */
export interface ReceiptSight {
  /** The farmer's own; null for nobody's. */
  farmerId: string | null;
  warehouseIds: readonly string[];
}

export interface ReceiptFilter {
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
  deps: Pick<Dependencies, 'db'>,
  filter: ReceiptFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<Receipt[]> {
  const { where, orderBy } = keyset(NEWEST_FIRST, page);
  const { visibleTo, farmerId, farmerAddress, warehouseId, state, expiringBefore } = filter;
  return deps.db
    .select()
    .from(receipts)
    .where(
      and(
        where,
        visibleTo == null ? undefined : withinSight(visibleTo),
        farmerId == null ? undefined : eq(receipts.farmerId, farmerId),
        farmerAddress == null ? undefined : eq(receipts.farmerAddress, farmerAddress),
        warehouseId == null ? undefined : eq(receipts.warehouseId, warehouseId),
        state == null ? undefined : eq(receipts.state, state),
        expiringBefore == null ? undefined : lt(receipts.expiryDate, expiringBefore),
      ),
    )
    .orderBy(...orderBy)
    .limit(page.limit);
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
