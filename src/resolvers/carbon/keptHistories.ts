/**
 * Histories of tokens that are read whole and often, kept as they were last read. Records are immutable in their token, so
 * the database is asked only whether any has got a hash, another date or another position since; and what is written of a kept list as JSON is
 * kept with it (lib/keptJson.ts).
 */
import { and, eq, lt } from 'drizzle-orm';
import { LRUCache } from 'lru-cache';
import type { PublicReads } from '../../db/publicReads.ts';
import { retirementRecords } from '../../db/tables/index.ts';
import type { FeedRecord } from '../../feed/feedFilter.ts';
import { haveChanged } from '../../feed/readFeed.ts';
import { keepJsonOf } from '../../lib/keptJson.ts';

export interface KeptHistories {
  /**
   * The token's first `count` records.
   * @param read gives them when they are not kept, or have changed
   */
  take(
    history: { tokenAddress: string; count: number },
    read: () => Promise<FeedRecord[]>,
  ): Promise<readonly FeedRecord[]>;
}

/** Shorter ones are read as fast as compared. */
const MIN_RECORDS = 100;
/** Of all kept histories, with their JSON: a few of the longest, or hundreds of short ones. */
const MAX_BYTES = 48 * 1024 * 1024;
/** Of a record without its texts, in memory and as JSON. */
const RECORD_BYTES = 1_200;

export function createKeptHistories(publicReads: PublicReads): KeptHistories {
  const kept = new LRUCache<string, readonly FeedRecord[]>({ maxSize: MAX_BYTES, sizeCalculation: bytesOf });
  return {
    async take({ tokenAddress, count }, read) {
      if (count < MIN_RECORDS) return read();
      const known = kept.get(tokenAddress);
      if (known?.length === count) {
        const those = and(
          eq(retirementRecords.tokenAddress, tokenAddress),
          lt(retirementRecords.index, count),
        );
        if (!(await publicReads.run((db) => haveChanged(db, known, those)))) return known;
      }
      const records = await read();
      // The database may have fallen back since they were counted.
      if (records.length === count) {
        keepJsonOf(records);
        kept.set(tokenAddress, records);
      }
      return records;
    },
  };
}

/** Texts are kept twice: in the record, and in its JSON, which has two bytes for each character when one of all is not Latin. */
function bytesOf(records: readonly FeedRecord[]): number {
  return records.reduce(
    (total, { beneficiary, note }) => total + RECORD_BYTES + 4 * (beneficiary.length + note.length),
    0,
  );
}
