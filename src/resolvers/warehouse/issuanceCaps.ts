/**
 * Caps of issuance. Outstanding kilograms count against a cap: those of receipts that are neither refused nor
 * expired, less settled cash-outs. A warehouse without caps is not limited. A warehouse with caps issues
 * receipts for their commodities only, so that another name for the same produce can't evade a cap.
 */
import { and, desc, eq, inArray, isNotNull, sql, sum } from 'drizzle-orm';
import { lockName } from '../../db/advisoryLock.ts';
import type { Db, Tx } from '../../db/connection.ts';
import { isAmong } from '../../db/conditions.ts';
import { listerOf, type KeysetCursor, type PageSource } from '../../db/keyset.ts';
import { IS_OUTSTANDING, issuanceCaps, offRampSessions, receipts } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { notFound } from '../../lib/notFound.ts';
import { spellingKey } from '../core/spellingKey.ts';
import type { Needs } from '../core/dependencies.ts';

type SetCap = typeof issuanceCaps.$inferSelect;
type CapInForce = SetCap & { limitKg: bigint };
export type IssuanceCap = CapInForce & { outstandingKg: bigint };

interface IssuanceCapInput {
  warehouseId: string;
  commodityType: string;
  /** Whole kilograms. */
  limitKg: bigint;
}

/** Selects the last row of each cap's history. */
const isLast = sql`NOT EXISTS (SELECT 1 FROM issuance_caps later
  WHERE later.id = ${issuanceCaps.id} AND later.number > ${issuanceCaps.number})`;
const isInForce = and(isLast, isNotNull(issuanceCaps.limitKg));

const hasLimit = (cap: SetCap): cap is CapInForce => cap.limitKg !== null;

/** Orders the deposits of a warehouse, and changes of its caps, until the transaction ends. */
export async function lockWarehouse(tx: Tx, warehouseId: string): Promise<void> {
  await lockName(tx, `receipt:${warehouseId}`);
}

/**
 * Call it with the warehouse locked, in the transaction that writes the receipt.
 * @throws DomainError ISSUANCE_CAP_EXCEEDED
 */
export async function requireWithinCap(
  tx: Tx,
  deposit: { warehouseId: string; commodityType: string; quantityKg: bigint },
): Promise<void> {
  const { warehouseId, commodityType, quantityKg } = deposit;
  const ofWarehouse = and(eq(issuanceCaps.warehouseId, warehouseId), isInForce);
  const caps = (await tx.select().from(issuanceCaps).where(ofWarehouse)).filter(hasLimit);
  if (caps.length === 0) return;
  const key = spellingKey(commodityType);
  const cap = caps.find(({ commodityKey }) => commodityKey === key);
  if (!cap) {
    throw new DomainError(
      'ISSUANCE_CAP_EXCEEDED',
      `Warehouse ${warehouseId} has caps of issuance, and none for "${commodityType}". An operator sets one with setIssuanceCap.`,
      { field: 'input.commodityType', limitKg: '0' },
    );
  }
  const outstandingKg = (await readOutstanding(tx, [warehouseId])).get(nameOf(cap)) ?? 0n;
  if (outstandingKg + quantityKg <= cap.limitKg) return;
  throw new DomainError(
    'ISSUANCE_CAP_EXCEEDED',
    `Receipts of warehouse ${warehouseId} for ${outstandingKg} kg of "${cap.commodityType}" are outstanding; with ` +
      `${quantityKg} kg more they exceed its cap of ${cap.limitKg} kg.`,
    {
      field: 'input.quantityKg',
      limitKg: String(cap.limitKg),
      outstandingKg: String(outstandingKg),
      requestedKg: String(quantityKg),
    },
  );
}

function nameOf({ warehouseId, commodityKey }: Pick<SetCap, 'warehouseId' | 'commodityKey'>): string {
  return JSON.stringify([warehouseId, commodityKey]);
}

/** Outstanding kilograms by warehouse and commodity, see `nameOf`. */
async function readOutstanding(
  db: Pick<Db, 'select'>,
  warehouseIds: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const settled = sql`coalesce((SELECT sum(${offRampSessions.tokenAmountKg}) FROM ${offRampSessions}
    WHERE ${offRampSessions.receiptId} = ${receipts.id} AND ${offRampSessions.state} = 'SETTLED'), 0)`;
  const rows = await db
    .select({
      warehouseId: receipts.warehouseId,
      commodityType: receipts.commodityType,
      // A receipt of which more was settled than it had makes no room for other receipts.
      kilograms: sum(sql`greatest(${receipts.quantityKg} - ${settled}, 0)`),
    })
    .from(receipts)
    .where(and(inArray(receipts.warehouseId, [...warehouseIds]), IS_OUTSTANDING))
    .groupBy(receipts.warehouseId, receipts.commodityType);
  const outstanding = new Map<string, bigint>();
  for (const { warehouseId, commodityType, kilograms } of rows) {
    const name = nameOf({ warehouseId, commodityKey: spellingKey(commodityType) });
    outstanding.set(name, (outstanding.get(name) ?? 0n) + BigInt(kilograms ?? 0));
  }
  return outstanding;
}

type ChangeNeeds = Needs<'db' | 'clock' | 'ids'>;

/** Setting the same cap again changes nothing. */
export async function setIssuanceCap(
  deps: ChangeNeeds,
  operatorId: string,
  input: IssuanceCapInput,
): Promise<IssuanceCap> {
  const [cap] = await withOutstanding(deps.db, await changeCap(deps, operatorId, input));
  if (cap === undefined) throw new Error(`the cap of ${input.warehouseId} was set without being in force`);
  return cap;
}

/**
 * Removing a removed cap changes nothing.
 * @returns the cap as it was
 * @throws DomainError NOT_FOUND
 */
export async function removeIssuanceCap(
  deps: ChangeNeeds,
  operatorId: string,
  id: string,
): Promise<IssuanceCap> {
  const ofCap = and(eq(issuanceCaps.id, id), isNotNull(issuanceCaps.limitKg));
  const latest = deps.db.select().from(issuanceCaps).where(ofCap).orderBy(desc(issuanceCaps.number)).limit(1);
  const [cap] = await withOutstanding(deps.db, await latest);
  if (cap === undefined) throw notFound('issuance cap', 'input.issuanceCapId');
  await changeCap(deps, operatorId, { ...cap, limitKg: null });
  return cap;
}

/**
 * @param input.limitKg null removes the cap
 * @returns the last row of the cap's history: a new one, unless the last one says the same
 */
async function changeCap(
  deps: ChangeNeeds,
  operatorId: string,
  input: Omit<IssuanceCapInput, 'limitKg'> & { limitKg: bigint | null },
): Promise<SetCap[]> {
  const { warehouseId, commodityType, limitKg } = input;
  const commodityKey = spellingKey(commodityType);
  const { warehouseId: warehouse, commodityKey: key } = issuanceCaps;
  return deps.db.transaction(async (tx) => {
    await lockWarehouse(tx, warehouseId);
    const [last] = await tx
      .select()
      .from(issuanceCaps)
      .where(and(eq(warehouse, warehouseId), eq(key, commodityKey), isLast));
    if (last?.limitKg === limitKg && last.commodityType === commodityType) return [last];
    const { id = deps.ids.next(), number = 0 } = last ?? {};
    const cap = { warehouseId, commodityType, commodityKey, limitKg };
    return tx
      .insert(issuanceCaps)
      .values({ ...cap, id, number: number + 1, setBy: operatorId, setAt: deps.clock.now() })
      .returning();
  });
}

async function withOutstanding(db: Pick<Db, 'select'>, rows: readonly SetCap[]): Promise<IssuanceCap[]> {
  const caps = rows.filter(hasLimit);
  if (caps.length === 0) return [];
  const outstanding = await readOutstanding(db, [...new Set(caps.map(({ warehouseId }) => warehouseId))]);
  return caps.map((cap) => ({ ...cap, outstandingKg: outstanding.get(nameOf(cap)) ?? 0n }));
}

const isOfOneOf = isAmong(issuanceCaps.warehouseId);
const listCaps = listerOf(
  issuanceCaps,
  'setAt',
  { visibleTo: isOfOneOf, warehouseIds: isOfOneOf },
  { where: isInForce },
);

/** @param filter.visibleTo warehouses that the caller may see; null for all */
export function listIssuanceCaps(
  deps: Needs<'db'>,
  filter: Parameters<typeof listCaps>[1] & { visibleTo: readonly string[] | null },
): PageSource<IssuanceCap, KeysetCursor> {
  const found = listCaps(deps, filter);
  return { ...found, list: async (page) => withOutstanding(deps.db, await found.list(page)) };
}

export async function findIssuanceCap({ db }: Needs<'db'>, id: string): Promise<IssuanceCap | null> {
  const [cap] = await withOutstanding(
    db,
    await db
      .select()
      .from(issuanceCaps)
      .where(and(eq(issuanceCaps.id, id), isInForce)),
  );
  return cap ?? null;
}
