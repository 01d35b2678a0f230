/**
 * Finds one retirement record by its token and its index there, among those that the feed has read.
 */
import { and, eq } from 'drizzle-orm';
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
