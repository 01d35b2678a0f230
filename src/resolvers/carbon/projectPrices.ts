/**
 * Prices of a tonne: the price in force, and the next one. Payment itself is outside of the platform.
 */
import { and, desc, eq, inArray } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { lockById } from '../../db/findByIds.ts';
import { accounts, projectPrices, projects } from '../../db/tables/index.ts';
import { canonicalDecimal, parseDecimal, timesWhole, type Decimal } from '../../lib/decimals.ts';
import { DomainError } from '../../lib/errors.ts';

/** Price of one tonne CO2e. */
export interface Price {
  /** Exact, in units of the currency. */
  amount: Decimal;
  /** ISO 4217. */
  currency: string;
}

/** Limits of the column: the total prices of a project's purchases fit the contract's Decimal. */
const MAX_WHOLE_DIGITS = 16;
const MAX_DECIMAL_PLACES = 8;

/** @throws DomainError BAD_USER_INPUT */
export function checkPrice(price: Price): Price {
  const amount = canonicalDecimal(price.amount);
  const [whole = '', fraction = ''] = amount.split('.');
  const isPositive = (parseDecimal(amount)?.units ?? 0n) > 0n;
  if (isPositive && whole.length <= MAX_WHOLE_DIGITS && fraction.length <= MAX_DECIMAL_PLACES) {
    return { amount, currency: price.currency };
  }
  throw new DomainError(
    'BAD_USER_INPUT',
    `A price must be more than 0, with at most ${MAX_WHOLE_DIGITS} digits before the point and ${MAX_DECIMAL_PLACES} ` +
      `after it; it is ${price.amount}.`,
    { field: 'input.pricePerTonne.amount' },
  );
}

/** Returns the price with its amount in one spelling. */
export function canonicalPrice({ amount, currency }: Price): Price {
  return { amount: canonicalDecimal(amount), currency };
}

/** Compares amounts of one currency, in any spelling. */
export function isSamePrice(one: Price, other: Price | null): boolean {
  return one.currency === other?.currency && canonicalDecimal(one.amount) === canonicalDecimal(other.amount);
}

/** The prices in force; a project without one is not in the map. */
export async function readPrices(
  { db }: { db: Pick<Db, 'selectDistinctOn'> },
  projectIds: readonly string[],
): Promise<Map<string, Price>> {
  const rows = await db
    .selectDistinctOn([projectPrices.projectId])
    .from(projectPrices)
    .where(inArray(projectPrices.projectId, [...projectIds]))
    .orderBy(projectPrices.projectId, desc(projectPrices.number));
  return new Map(rows.map((row) => [row.projectId, priceOf(row)]));
}

/** The price of a stored row; null where none was in force. */
export function priceOf(row: { pricePerTonne: string; priceCurrency: string }): Price;
export function priceOf(row: { pricePerTonne: string | null; priceCurrency: string | null }): Price | null;
export function priceOf(row: { pricePerTonne: string | null; priceCurrency: string | null }): Price | null {
  if (row.pricePerTonne === null || row.priceCurrency === null) return null;
  return { amount: canonicalDecimal(row.pricePerTonne), currency: row.priceCurrency };
}

/** Exact cost of `tonnes`: it is not rounded to the currency's smallest unit. */
export function totalOf(price: Price | null, tonnes: bigint): Price | null {
  return price && { amount: timesWhole(price.amount, tonnes), currency: price.currency };
}

interface NewPrice {
  id: string;
  projectId: string;
  price: Price;
  setBy: string;
  at: Date;
}

/** Replaces the price in force. Purchases wait meanwhile, so each has entirely the old or the new price. */
export async function appendPrice(tx: Tx, { id, projectId, price, setBy, at }: NewPrice): Promise<void> {
  await lockById(tx, projects, projectId, 'no key update');
  await tx
    .select({ id: accounts.id })
    .from(accounts)
    .where(and(eq(accounts.projectId, projectId), eq(accounts.kind, 'inventory')))
    .for('no key update');
  const [last] = await tx
    .select({ number: projectPrices.number })
    .from(projectPrices)
    .where(eq(projectPrices.projectId, projectId))
    .orderBy(desc(projectPrices.number))
    .limit(1);
  await tx.insert(projectPrices).values({
    id,
    projectId,
    number: (last?.number ?? 0) + 1,
    pricePerTonne: price.amount,
    priceCurrency: price.currency,
    setBy,
    createdAt: at,
  });
}
