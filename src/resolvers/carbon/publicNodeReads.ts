/**
 * Reads of the network that the public may request: the platform's own writes need the same node.
 *
 * A token's totals are shared among callers, who may ask a thousand times in one operation. All who ask for a
 * token while it is not being read share its next read, so no answer is older than its question. Each address
 * waits for its own place, so one that waits for many tokens does not delay another.
 */
import { fillToken, type FeedDependencies } from '../../feed/fillToken.ts';
import type { FeedToken } from '../../feed/appendRecords.ts';
import type { CarbonTotals, RetirementRecord } from '../../ledger/network/port.ts';
import { createConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import type { Needs } from '../core/dependencies.ts';
import { getOrMake } from '../../lib/getOrMake.ts';

/**
 * Limits of the reads of totals, and of those of records. A page of a hundred projects or records waits for its
 * places in turn, so that other clients do not wait for the whole page.
 */
const PLACES = { maxConcurrent: 4, maxPerKey: 3, maxWaiting: 400, waitMs: 10_000 };

interface Reading {
  /** Null until the read has begun. */
  totals: Promise<CarbonTotals> | null;
  askedBy: Map<string, Promise<CarbonTotals>>;
}

/** @throws NetworkUnavailable; DomainError OVERLOADED */
type ReadTotals = (token: FeedToken, addressKey: string) => Promise<CarbonTotals>;

const readers = new WeakMap<FeedDependencies, ReadTotals>();

/**
 * Afterwards at least `totalRetirements` records are stored. @param addressKey by which places are given in
 * turn
 */
export function readTotals(
  feed: FeedDependencies,
  token: FeedToken,
  addressKey: string,
): Promise<CarbonTotals> {
  return getOrMake(readers, feed, () => createReadTotals(feed))(token, addressKey);
}

function createReadTotals(feed: FeedDependencies): ReadTotals {
  const places = createConcurrencyLimit(PLACES);
  const running = new Map<string, Promise<CarbonTotals>>();
  const next = new Map<string, Reading>();

  const begin = (token: FeedToken, giveBack: () => void): Promise<CarbonTotals> => {
    const { tokenAddress } = token;
    next.delete(tokenAddress);
    const totals = fillToken(feed, token).finally(() => {
      running.delete(tokenAddress);
      giveBack();
    });
    running.set(tokenAddress, totals);
    return totals;
  };

  const take = async (token: FeedToken, reading: Reading, addressKey: string): Promise<CarbonTotals> => {
    // Waits without a place: otherwise the callers who wait for one token would leave no places to others.
    await running.get(token.tokenAddress)?.catch(() => undefined);
    const giveBack = await places.take(addressKey);
    if (reading.totals === null) reading.totals = begin(token, giveBack);
    else giveBack();
    return reading.totals;
  };

  return (token, addressKey) => {
    const { tokenAddress } = token;
    const reading = next.get(tokenAddress) ?? { totals: null, askedBy: new Map() };
    const asked = reading.askedBy.get(addressKey);
    if (asked !== undefined) return asked;
    next.set(tokenAddress, reading);
    const taken = take(token, reading, addressKey).finally(() => {
      reading.askedBy.delete(addressKey);
      // All callers were refused: without the deletion, the map would keep a read that no caller can begin.
      if (reading.askedBy.size === 0 && next.get(tokenAddress) === reading) next.delete(tokenAddress);
    });
    reading.askedBy.set(addressKey, taken);
    return taken;
  };
}

const recordReads = createConcurrencyLimit(PLACES);

/**
 * One record as its token has it now, to compare with the platform's copy; null when the token has none.
 * @param addressKey the client's key, by which places are given in turn
 * @throws NetworkUnavailable; DomainError OVERLOADED
 */
export async function readRecordOnNetwork(
  { network }: Needs<'network'>,
  tokenAddress: string,
  index: number,
  addressKey: string,
): Promise<RetirementRecord | null> {
  const giveBack = await recordReads.take(addressKey);
  const { records } = await network.retirementRecords(tokenAddress, index, 1).finally(giveBack);
  return records.find((record) => record.index === index) ?? null;
}
