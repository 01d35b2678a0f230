/**
 * Finds retirement records in the feed: by their tokens and indexes, or all of one transaction.
 */
import { asc, inArray } from 'drizzle-orm';
import { findByPairs } from '../../db/findByIds.ts';
import type { Pair } from '../../db/manyRows.ts';
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
  const place = [address, index] as const;
  return (await findRecordsAt(deps, [place])).get(place) ?? null;
}

/** @param places addresses in the network's one spelling, with indexes */
export function findRecordsAt({ db }: Needs<'db'>, places: readonly Pair[]): Promise<Map<Pair, FeedRecord>> {
  const { tokenAddress, index } = retirementRecords;
  return findByPairs(db, retirementRecords, [tokenAddress, index], places, (record) => [
    record.tokenAddress,
    record.index,
  ]);
}

/**
 * Maximum records returned for one transaction. Another party's contract may burn many times in one; the
 * platform burns once.
 */
export const MAX_RECORDS_OF_TRANSACTION = 10;

/** @param txHash 64 hexadecimal digits, in any spelling */
export async function findRecordsByTransaction(
  { db }: Needs<'db'>,
  txHash: string,
): Promise<readonly FeedRecord[]> {
  const { position } = retirementRecords;
  // As the networks print hashes: with 0x if addresses have it, and without.
  const digits = txHash.toLowerCase().replace(/^0x/, '');
  return db
    .select()
    .from(retirementRecords)
    .where(inArray(retirementRecords.txHash, [`0x${digits}`, digits]))
    .orderBy(asc(position))
    .limit(MAX_RECORDS_OF_TRANSACTION);
}
