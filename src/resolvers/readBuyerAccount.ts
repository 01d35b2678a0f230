/**
 * A buyer's own view of the books: balances, and the entries that led to them.
 */
import type { KeysetPage } from '../db/keyset.ts';
import { readBuyerBalances, readStatement } from '../ledger/books/readBalances.ts';
import type { BuyerBalance, StatementEntry } from '../ledger/books/readBalances.ts';
import type { Dependencies } from './dependencies.ts';
import { requireProjectByToken } from './findProject.ts';

export type { BuyerBalance, StatementEntry };

/** In the order of the tokens' addresses; the cursor is the address. */
export function listBalances(
  deps: Pick<Dependencies, 'db'>,
  buyerId: string,
  page: KeysetPage<string>,
): Promise<BuyerBalance[]> {
  return readBuyerBalances(deps.db, buyerId, page);
}

/** Oldest first; the cursor is the entry's version. @throws DomainError NOT_FOUND for an unknown token */
export async function listStatement(
  deps: Pick<Dependencies, 'db' | 'network'>,
  buyerId: string,
  tokenAddress: string,
  page: KeysetPage<bigint>,
): Promise<StatementEntry[]> {
  const project = await requireProjectByToken(deps, tokenAddress);
  return readStatement(deps.db, buyerId, project.id, page);
}
