/**
 * Lists warehouse receipts, newest first.
 */
import { and, eq, exists, inArray, isNull, notExists, or, sql, type SQL } from 'drizzle-orm';
import {
  isAmong,
  isAtLeast,
  isAtMost,
  isFrom,
  isUntil,
  isWithin,
  matching,
  type FilterOf,
} from '../../db/conditions.ts';
import { readNames } from '../core/distinctNames.ts';
import { listerOf } from '../../db/keyset.ts';
import { receiptPledges, receipts } from '../../db/tables/index.ts';
import { isAmongAddresses } from '../core/addresses.ts';
import type { Needs } from '../core/dependencies.ts';

/** Which receipts a caller may see. */
export interface ReceiptSight {
  /** Receipts of this farmer; null for no farmer's. */
  farmerId: string | null;
  warehouseIds: readonly string[];
  /** Receipts that are pledged to this lender; null for no lender's. */
  lenderId: string | null;
}

type ListNeeds = Needs<'db' | 'network'>;

const FILTER = {
  /** All receipts are shown when left out. */
  visibleTo: withinSight,
  tokenAddresses: isAmongAddresses(receipts.tokenAddress),
  farmerIds: isAmong(receipts.farmerId),
  farmerAddresses: isAmongAddresses(receipts.farmerAddress),
  warehouseIds: isAmong(receipts.warehouseId),
  lenderIds: pledgedTo,
  pledged: (wanted: boolean, deps: ListNeeds) => (wanted ? exists : notExists)(openPledge(deps)),
  commodityTypes: isAmong(receipts.commodityType),
  states: isAmong(receipts.state),
  minQuantityKg: isAtLeast(receipts.quantityKg),
  maxQuantityKg: isAtMost(receipts.quantityKg),
  ...isWithin(receipts.createdAt),
  expiresFrom: isFrom(receipts.expiryDate),
  expiresUntil: isUntil(receipts.expiryDate),
};

export const listReceipts = listerOf(receipts, 'createdAt', FILTER);

/** Commodity types of the visible receipts, each once, in alphabetical order. */
export function listCommodityTypes(
  deps: ListNeeds,
  filter: Pick<FilterOf<typeof FILTER>, 'visibleTo'>,
): Promise<string[]> {
  return readNames(deps.db, receipts, receipts.commodityType, matching(FILTER, filter, deps));
}

function withinSight({ farmerId, warehouseIds, lenderId }: ReceiptSight, deps: ListNeeds) {
  return or(
    farmerId === null ? sql`false` : eq(receipts.farmerId, farmerId),
    warehouseIds.length === 0 ? sql`false` : inArray(receipts.warehouseId, [...warehouseIds]),
    lenderId === null ? sql`false` : pledgedTo([lenderId], deps),
  );
}

/**
 * Finds receipts by lender: a lender's open pledges are fewer than the receipts. As an array, the subquery
 * works with an index beside other conditions; as a set, every receipt would be looked up in it.
 */
function pledgedTo(lenderIds: readonly string[], { db }: ListNeeds): SQL {
  const held = and(isAmong(receiptPledges.lenderId)(lenderIds), isNull(receiptPledges.releasedAt));
  const pledged = db.select({ id: receiptPledges.receiptId }).from(receiptPledges).where(held);
  return sql`${receipts.id} = ANY (ARRAY(${pledged}))`;
}

function openPledge({ db }: ListNeeds) {
  return db
    .select({ one: sql`1` })
    .from(receiptPledges)
    .where(and(eq(receiptPledges.receiptId, receipts.id), isNull(receiptPledges.releasedAt)));
}
