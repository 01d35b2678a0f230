/**
 * Reads a buyer's balances and statement from the books.
 */
import type { KeysetPage } from '../../db/keyset.ts';
import {
  countBuyerBalances,
  countEntries,
  readBuyerBalances,
  readStatement,
} from '../../ledger/books/readBalances.ts';
import type { BuyerBalance, StatementEntry } from '../../ledger/books/readBalances.ts';
import type { Needs } from '../core/dependencies.ts';
import { requireProjectByToken } from './findProject.ts';

export type { BuyerBalance, StatementEntry };

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

/** Oldest first; the cursor is the entry's version. @throws DomainError NOT_FOUND for an unknown token */
export async function listStatement(
  deps: Needs<'db' | 'network'>,
  buyerId: string,
  tokenAddress: string,
  page: KeysetPage<bigint>,
): Promise<StatementEntry[]> {
  const project = await requireProjectByToken(deps, tokenAddress);
  return readStatement(deps.db, buyerId, project.id, page);
}

/** @throws DomainError NOT_FOUND for an unknown token */
export async function countStatement(
  deps: Needs<'db' | 'network'>,
  buyerId: string,
  tokenAddress: string,
): Promise<number> {
  const project = await requireProjectByToken(deps, tokenAddress);
  return countEntries(deps.db, buyerId, project.id);
}
