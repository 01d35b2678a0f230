/**
 * Reads a buyer's balances, statement and purchases from the books.
 */
import type { PageSource } from '../../db/keyset.ts';
import { countBuyerBalances, readBuyerBalances, type BuyerBalance } from '../../ledger/books/readBalances.ts';
import {
  countStatement,
  readStatement,
  type StatementCursor,
  type StatementEntry,
  type StatementSelection,
  type TransferFilter,
} from '../../ledger/books/readStatement.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Purchase } from './purchase.ts';
import { matchingProjects } from './recordFilter.ts';

export type { BuyerBalance, StatementCursor, StatementEntry };

/** An unknown token matches no entries. */
interface StatementFilter extends TransferFilter {
  tokenAddresses?: readonly string[] | null | undefined;
}

interface ListedPurchase extends Purchase {
  cursor: StatementCursor;
}

type StatementNeeds = Needs<'db' | 'network'>;

/** In the order of the tokens' addresses; the cursor is the address. */
export function listBalances({ db }: Needs<'db'>, buyerId: string): PageSource<BuyerBalance, string> {
  return {
    list: (page) => readBuyerBalances(db, buyerId, page),
    cursorOf: ({ tokenAddress }) => tokenAddress,
    count: () => countBuyerBalances(db, buyerId),
  };
}

/** Oldest first. */
export function listStatement(
  deps: StatementNeeds,
  buyerId: string,
  filter: StatementFilter,
): PageSource<StatementEntry, StatementCursor> {
  const selection = selectionOf(deps, buyerId, filter);
  return {
    list: (page) => readStatement(deps.db, selection, 'asc', page),
    cursorOf: ({ cursor }) => cursor,
    count: () => countStatement(deps.db, selection),
  };
}

/** Newest first. */
export function listPurchases(
  deps: StatementNeeds,
  buyerId: string,
  filter: StatementFilter,
): PageSource<ListedPurchase, StatementCursor> {
  const selection = { ...selectionOf(deps, buyerId, filter), isOfPurchases: true };
  return {
    list: async (page) =>
      (await readStatement(deps.db, selection, 'desc', page)).map((entry) => purchaseOf(buyerId, entry)),
    cursorOf: ({ cursor }) => cursor,
    count: () => countStatement(deps.db, selection),
  };
}

function purchaseOf(
  buyerId: string,
  { id, projectId, amountTonnes, pricePerTonne, priceCurrency, postedAt, cursor }: StatementEntry,
): ListedPurchase {
  const createdAt = postedAt;
  return { id, projectId, buyerId, amountTonnes, pricePerTonne, priceCurrency, createdAt, cursor };
}

function selectionOf(
  deps: StatementNeeds,
  buyerId: string,
  { tokenAddresses, ...filter }: StatementFilter,
): StatementSelection {
  return { ...filter, buyerId, projects: matchingProjects(deps, { tokenAddresses }) };
}
