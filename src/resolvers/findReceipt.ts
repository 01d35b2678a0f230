/**
 * Finding warehouse receipts by what clients know of them.
 */
import { eq, inArray } from 'drizzle-orm';
import { receipts } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import type { Dependencies } from './dependencies.ts';

export type Receipt = typeof receipts.$inferSelect;
/** A receipt whose token is deployed. */
export type TokenizedReceipt = Receipt & { tokenAddress: string };

type Finder = Pick<Dependencies, 'db' | 'network'>;

export async function findReceiptById(deps: Pick<Finder, 'db'>, id: string): Promise<Receipt | null> {
  const [receipt] = await deps.db.select().from(receipts).where(eq(receipts.id, id));
  return receipt ?? null;
}

export async function findReceiptsByIds(
  deps: Pick<Finder, 'db'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Receipt>> {
  const rows = await deps.db
    .select()
    .from(receipts)
    .where(inArray(receipts.id, [...ids]));
  return new Map(rows.map((receipt) => [receipt.id, receipt]));
}

export async function findReceiptByToken(
  deps: Finder,
  tokenAddress: string,
): Promise<TokenizedReceipt | null> {
  const address = deps.network.normalizeAddress(tokenAddress);
  if (address === null) return null;
  const [receipt] = await deps.db.select().from(receipts).where(eq(receipts.tokenAddress, address));
  return receipt ? { ...receipt, tokenAddress: address } : null;
}

/** The same words whether there is no receipt or the caller may not know of it. */
export function receiptNotFound(tokenAddress: string): DomainError {
  return new DomainError(
    'NOT_FOUND',
    `No warehouse receipt of yours has a token at "${tokenAddress}". The query "receipts" lists those that you may see.`,
    { field: 'input.receiptTokenAddress' },
  );
}
