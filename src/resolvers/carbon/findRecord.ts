/**
 * Finds retirement records in the feed: by their tokens and indexes, or all of one transaction.
 */
import { asc, eq } from 'drizzle-orm';
import { isOneOfPairs } from '../../db/manyRows.ts';
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
  const place = placeOf({ tokenAddress: address, index });
  return (await findRecordsAt(deps, [place])).get(place) ?? null;
}

/** A record's place among all tokens' records; the address is in the network's one spelling. */
export function placeOf({ tokenAddress, index }: Pick<FeedRecord, 'tokenAddress' | 'index'>): string {
  return `${index} ${tokenAddress}`;
}

/** The records at these places; a place without a record is not in the map. */
export async function findRecordsAt(
  { db }: Needs<'db'>,
  places: readonly string[],
): Promise<ReadonlyMap<string, FeedRecord>> {
  const { tokenAddress, index } = retirementRecords;
  const pairs = places.map((place): [string, number] => {
    const [number, address = ''] = place.split(' ');
    return [address, Number(number)];
  });
  const found = await db
    .select()
    .from(retirementRecords)
    .where(isOneOfPairs([tokenAddress, index], pairs));
  return new Map(found.map((record) => [placeOf(record), record]));
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
