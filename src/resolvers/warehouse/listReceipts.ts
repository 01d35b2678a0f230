/**
 * Lists warehouse receipts, newest first.
 */
import { and, eq, exists, inArray, isNull, notExists, or, sql, type SQL } from 'drizzle-orm';
import { isAmong, isBetween, isInTime, isWithin } from '../../db/conditions.ts';
import { readNames } from '../../db/distinctNames.ts';
import { rowsByMoment, type KeysetCursor, type PageSource } from '../../db/keyset.ts';
import { receiptPledges, receipts } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Receipt } from './findReceipt.ts';

/** Which receipts a caller may see. */
export interface ReceiptSight {
  /** Receipts of this farmer; null for no farmer's. */
  farmerId: string | null;
  warehouseIds: readonly string[];
  /** Receipts that are pledged to this lender; null for no lender's. */
  lenderId: string | null;
}

interface ReceiptFilter {
  /** Null shows all receipts. */
  visibleTo?: ReceiptSight | null | undefined;
  tokenAddresses?: readonly string[] | null | undefined;
  farmerIds?: readonly string[] | null | undefined;
  farmerAddresses?: readonly string[] | null | undefined;
  warehouseIds?: readonly string[] | null | undefined;
  /** Lenders of the open pledge. */
  lenderIds?: readonly string[] | null | undefined;
  isPledged?: boolean | null | undefined;
  commodityTypes?: readonly string[] | null | undefined;
  states?: readonly Receipt['state'][] | null | undefined;
  minQuantityKg?: bigint | null | undefined;
  maxQuantityKg?: bigint | null | undefined;
  /** When the deposit was confirmed, in Unix seconds; `until` is excluded. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
  /** Range of the expiry date. */
  expiresFrom?: bigint | null | undefined;
  expiresUntil?: bigint | null | undefined;
}

type ListNeeds = Needs<'db' | 'network'>;

const newestFirst = rowsByMoment(receipts, 'createdAt');

export function listReceipts(deps: ListNeeds, filter: ReceiptFilter): PageSource<Receipt, KeysetCursor> {
  return newestFirst(deps.db, matching(deps, filter));
}

/** Commodity types of the visible receipts, each once, in alphabetical order. */
export function listCommodityTypes(
  deps: ListNeeds,
  filter: Pick<ReceiptFilter, 'visibleTo'>,
): Promise<string[]> {
  return readNames(deps.db, receipts, receipts.commodityType, matching(deps, filter));
}

function matching(deps: ListNeeds, filter: ReceiptFilter): SQL | undefined {
  const { visibleTo, isPledged, lenderIds } = filter;
  const spelled = (addresses: readonly string[] | null | undefined) =>
    addresses?.flatMap((text) => deps.network.normalizeAddress(text) ?? []);
  return and(
    visibleTo == null ? undefined : withinSight(deps, visibleTo),
    isAmong(receipts.tokenAddress, spelled(filter.tokenAddresses)),
    isAmong(receipts.farmerId, filter.farmerIds),
    isAmong(receipts.farmerAddress, spelled(filter.farmerAddresses)),
    isAmong(receipts.warehouseId, filter.warehouseIds),
    lenderIds == null ? undefined : pledgedTo(deps, lenderIds),
    isPledged == null ? undefined : (isPledged ? exists : notExists)(openPledge(deps)),
    isAmong(receipts.commodityType, filter.commodityTypes),
    isAmong(receipts.state, filter.states),
    isBetween(receipts.quantityKg, filter.minQuantityKg, filter.maxQuantityKg),
    isWithin(receipts.createdAt, filter.from, filter.until),
    isInTime(receipts.expiryDate, filter.expiresFrom, filter.expiresUntil),
  );
}

function withinSight(deps: ListNeeds, { farmerId, warehouseIds, lenderId }: ReceiptSight): SQL | undefined {
  return or(
    farmerId === null ? sql`false` : eq(receipts.farmerId, farmerId),
    warehouseIds.length === 0 ? sql`false` : inArray(receipts.warehouseId, [...warehouseIds]),
    lenderId === null ? sql`false` : pledgedTo(deps, [lenderId]),
  );
}

/**
 * Finds receipts by lender: a lender's open pledges are fewer than the receipts. As an array, the subquery
 * works with an index beside other conditions; as a set, every receipt would be looked up in it.
 */
function pledgedTo({ db }: ListNeeds, lenderIds: readonly string[]): SQL {
  const held = and(isAmong(receiptPledges.lenderId, lenderIds), isNull(receiptPledges.releasedAt));
  const pledged = db.select({ id: receiptPledges.receiptId }).from(receiptPledges).where(held);
  return sql`${receipts.id} = ANY (ARRAY(${pledged}))`;
}

function openPledge({ db }: ListNeeds) {
  return db
    .select({ one: sql`1` })
    .from(receiptPledges)
    .where(and(eq(receiptPledges.receiptId, receipts.id), isNull(receiptPledges.releasedAt)));
}
