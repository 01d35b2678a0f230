/**
 * Reads a buyer's balances, statement and purchases from the books.
 */
import type { KeysetPage } from '../../db/keyset.ts';
import { countBuyerBalances, readBuyerBalances, type BuyerBalance } from '../../ledger/books/readBalances.ts';
import {
  countStatement as countEntries,
  readStatement,
  type StatementCursor,
  type StatementEntry,
  type StatementSelection,
} from '../../ledger/books/readStatement.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Purchase } from './purchase.ts';
import { matchingProjects } from './recordFilter.ts';

export type { BuyerBalance, StatementCursor, StatementEntry };

/** An unknown token has no entries. */
interface StatementFilter {
  tokenAddresses?: readonly string[] | null | undefined;
  kinds?: readonly StatementEntry['kind'][] | null | undefined;
  /** In Unix seconds; `until` is excluded. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
}

interface ListedPurchase extends Purchase {
  cursor: StatementCursor;
}

type StatementNeeds = Needs<'db' | 'network'>;

/** In the order of the tokens' addresses; the cursor is the address. */
export function listBalances(
  deps: Needs<'db'>,
  buyerId: string,
  page: KeysetPage<string>,
): Promise<BuyerBalance[]> {
  return readBuyerBalances(deps.db, buyerId, page);
}

export function countBalances(deps: Needs<'db'>, buyerId: string): Promise<number> {
  return countBuyerBalances(deps.db, buyerId);
}

/** Oldest first. */
export function listStatement(
  deps: StatementNeeds,
  buyerId: string,
  filter: StatementFilter,
  page: KeysetPage<StatementCursor>,
): Promise<StatementEntry[]> {
  return readStatement(deps.db, selectionOf(deps, buyerId, filter), 'asc', page);
}

export function countStatement(
  deps: StatementNeeds,
  buyerId: string,
  filter: StatementFilter,
): Promise<number> {
  return countEntries(deps.db, selectionOf(deps, buyerId, filter));
}

/** Newest first. */
export async function listPurchases(
  deps: StatementNeeds,
  buyerId: string,
  filter: StatementFilter,
  page: KeysetPage<StatementCursor>,
): Promise<ListedPurchase[]> {
  const selection = { ...selectionOf(deps, buyerId, filter), isOfPurchases: true };
  const entries = await readStatement(deps.db, selection, 'desc', page);
  return entries.map(({ id, projectId, amountTonnes, pricePerTonne, priceCurrency, postedAt, cursor }) => ({
    id,
    projectId,
    buyerId,
    amountTonnes,
    pricePerTonne,
    priceCurrency,
    createdAt: postedAt,
    cursor,
  }));
}

export function countPurchases(
  deps: StatementNeeds,
  buyerId: string,
  filter: StatementFilter,
): Promise<number> {
  return countEntries(deps.db, { ...selectionOf(deps, buyerId, filter), isOfPurchases: true });
}

function selectionOf(
  deps: StatementNeeds,
  buyerId: string,
  { tokenAddresses, kinds, from, until }: StatementFilter,
): StatementSelection {
  return { buyerId, projects: matchingProjects(deps, { tokenAddresses }), kinds, from, until };
}
