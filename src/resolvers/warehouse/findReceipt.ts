/**
 * Finds warehouse receipts by id or token address, and how subscribers follow them.
 */
import { eq } from 'drizzle-orm';
import { finderOf, findersOf } from '../../db/findByIds.ts';
import { receipts } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';
import type { FollowedKind } from '../core/changeFollower.ts';
import { findOpenPledges, type ReceiptPledge } from './findPledge.ts';
import { readTaken, type Taken } from './readTaken.ts';

export type Receipt = typeof receipts.$inferSelect;
/** A receipt whose token is deployed. */
export type TokenizedReceipt = Receipt & { tokenAddress: string };

export interface ReceiptCaller {
  subject: string;
  /** Operators may act for any farmer; farmers only on their own receipts. */
  isOperator: boolean;
}

type Finder = Needs<'db' | 'network'>;

export const findReceiptById = finderOf(receipts);
export const findReceiptsByIds = findersOf(receipts);

export async function findReceiptByToken(
  deps: Finder,
  tokenAddress: string,
): Promise<TokenizedReceipt | null> {
  const address = deps.network.normalizeAddress(tokenAddress);
  if (address === null) return null;
  const [receipt] = await deps.db.select().from(receipts).where(eq(receipts.tokenAddress, address));
  return receipt ? { ...receipt, tokenAddress: address } : null;
}

/** The same message for a receipt that does not exist and for one that the caller may not see. */
export function receiptNotFound(tokenAddress: string): DomainError {
  return new DomainError(
    'NOT_FOUND',
    `No warehouse receipt of yours has a token at "${tokenAddress}". The query "receipts" lists those that you may see.`,
    { field: 'input.receiptTokenAddress' },
  );
}

/** @throws DomainError NOT_FOUND */
export async function requireOwnReceipt(
  deps: Finder,
  caller: ReceiptCaller,
  tokenAddress: string,
): Promise<TokenizedReceipt> {
  const receipt = await findReceiptByToken(deps, tokenAddress);
  if (!receipt || (!caller.isOperator && receipt.farmerId !== caller.subject)) {
    throw receiptNotFound(tokenAddress);
  }
  return receipt;
}

/** @throws DomainError RECEIPT_EXPIRED, CONFLICT */
export function requireActive(receipt: TokenizedReceipt): void {
  if (receipt.state === 'EXPIRED') throw receiptExpired(receipt.tokenAddress);
  if (receipt.state === 'ACTIVE') return;
  throw new DomainError(
    'CONFLICT',
    `The receipt at ${receipt.tokenAddress} is ${receipt.state}; only an ACTIVE receipt can be cashed out or pledged.`,
    { field: 'input.receiptTokenAddress', state: receipt.state },
  );
}

export function receiptExpired(tokenAddress: string): DomainError {
  return new DomainError(
    'RECEIPT_EXPIRED',
    `The receipt at ${tokenAddress} has passed its expiry date; it can't be cashed out or pledged any more.`,
    { field: 'input.receiptTokenAddress' },
  );
}

/** The open pledge and the kilograms taken change without the receipt's row. */
export type FollowedReceipt = Receipt & { openPledge: ReceiptPledge | null; taken: Taken | null };

export const FOLLOWED_RECEIPTS: FollowedKind<FollowedReceipt> = {
  findMany,
  hasEnded: ({ state }) => state === 'EXPIRED' || state === 'REFUSED',
  hidden: [],
};

async function findMany(
  deps: Needs<'db'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, FollowedReceipt>> {
  const [receipts, openPledges, taken] = await Promise.all([
    findReceiptsByIds(deps, ids),
    findOpenPledges(deps, ids),
    readTaken(deps, ids),
  ]);
  return new Map(
    [...receipts].map(([id, receipt]) => [
      id,
      { ...receipt, openPledge: openPledges.get(id) ?? null, taken: taken.get(id) ?? null },
    ]),
  );
}
