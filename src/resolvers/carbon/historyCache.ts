/**
 * Caches histories that are read whole and often. Records are immutable in their token, so the database is
 * only asked whether any has got a hash, another date or another position since. A cached list's JSON is
 * cached with it (lib/jsonCache.ts).
 */
import { and, eq, lt } from 'drizzle-orm';
import { LRUCache } from 'lru-cache';
import type { PublicReads } from '../../db/publicReads.ts';
import { retirementRecords } from '../../db/tables/index.ts';
import type { FeedRecord } from '../../feed/feedFilter.ts';
import { haveChanged } from '../../feed/readFeed.ts';
import { cacheJsonOf } from '../../lib/jsonCache.ts';

export interface HistoryCache {
  /**
   * Returns the token's first `count` records.
   * @param read reads them when they are not cached, or have changed
   */
  take(
    history: { tokenAddress: string; count: number },
    read: () => Promise<FeedRecord[]>,
  ): Promise<readonly FeedRecord[]>;
}

/** Shorter histories are read as fast as compared. */
const MIN_RECORDS = 100;
/** Size limit of all histories with their JSON: a few of the longest, or hundreds of short ones. */
const MAX_BYTES = 48 * 1024 * 1024;
/** Approximate size of a record without its texts, in memory and as JSON. */
const RECORD_BYTES = 1_200;

export function createHistoryCache(publicReads: PublicReads): HistoryCache {
  const cached = new LRUCache<string, readonly FeedRecord[]>({
    maxSize: MAX_BYTES,
    sizeCalculation: bytesOf,
  });
  return {
    async take({ tokenAddress, count }, read) {
      if (count < MIN_RECORDS) return read();
      const known = cached.get(tokenAddress);
      if (known?.length === count) {
        const those = and(
          eq(retirementRecords.tokenAddress, tokenAddress),
          lt(retirementRecords.index, count),
        );
        if (!(await publicReads.run((db) => haveChanged(db, known, those)))) return known;
      }
      const records = await read();
      // The database may have been restored to an older state since the count.
      if (records.length === count) {
        cacheJsonOf(records);
        cached.set(tokenAddress, records);
      }
      return records;
    },
  };
}

/**
 * Texts are stored twice: in the record, and in its JSON, which takes two bytes per character if any is not
 * Latin-1.
 */
function bytesOf(records: readonly FeedRecord[]): number {
  return records.reduce(
    (total, { beneficiary, note }) => total + RECORD_BYTES + 4 * (beneficiary.length + note.length),
    0,
  );
}
