/**
 * The retirement records that one transaction made, among those that the feed has read.
 */
import { asc, eq } from 'drizzle-orm';
import { retirementRecords } from '../../db/tables/index.ts';
import type { FeedRecord } from '../../feed/followFeed.ts';
import type { Needs } from '../core/dependencies.ts';

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
