/**
 * Finds retirement records in the feed: one by its token and index, or all of one transaction.
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

/**
 * Maximum records returned for one transaction. Another party's contract may burn many times in one; the
 * platform burns once.
 */
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
