/**
 * Finds retirement records among those that the feed has read: one by its token and its index there, or those of a transaction.
 */
import { and, asc, eq } from 'drizzle-orm';
import { retirementRecords } from '../../db/tables/index.ts';
import type { FeedRecord } from '../../feed/followFeed.ts';
import type { Needs } from '../core/dependencies.ts';

export async function findRecord(
  deps: Needs<'db' | 'network'>,
  tokenAddress: string,
  index: number,
): Promise<FeedRecord | null> {
  const address = deps.network.normalizeAddress(tokenAddress);
  if (address === null) return null;
  const [record] = await deps.db
    .select()
    .from(retirementRecords)
    .where(and(eq(retirementRecords.tokenAddress, address), eq(retirementRecords.index, index)));
  return record ?? null;
}

/** A contract of others may burn many times in one transaction; the platform burns once. */
export const MAX_RECORDS_OF_TRANSACTION = 10;

export async function findRecordsByTransaction(
  { db }: Needs<'db'>,
  txHash: string,
): Promise<readonly FeedRecord[]> {
  const { position } = retirementRecords;
  return db
    .select()
    .from(retirementRecords)
    .where(eq(retirementRecords.txHash, txHash))
    .orderBy(asc(position))
    .limit(MAX_RECORDS_OF_TRANSACTION);
}
