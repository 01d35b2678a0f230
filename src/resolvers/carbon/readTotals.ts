/**
 * A token's totals, read from the network for all who ask: the public does, also a thousand times in one operation, and the
 * platform's own writes need the same node.
 *
 * All who ask for a token while it is not being read share its next reading, so no answer is older than its question. Each
 * address waits for a place of its own to begin it: one that waits for many tokens keeps none of them from another address.
 */
import { fillToken, type FeedDependencies } from '../../feed/fillToken.ts';
import type { FeedToken } from '../../feed/appendRecords.ts';
import type { CarbonTotals } from '../../ledger/network/port.ts';
import { createConcurrencyLimit } from '../../lib/concurrencyLimit.ts';

/** A page of a hundred projects waits its turn. */
const PLACES = { maxConcurrent: 4, maxPerKey: 3, maxWaiting: 400, waitMs: 10_000 };

interface Reading {
  /** Null until it has begun. */
  totals: Promise<CarbonTotals> | null;
  askedBy: Map<string, Promise<CarbonTotals>>;
}

/** @throws NetworkUnavailable; DomainError OVERLOADED */
type ReadTotals = (token: FeedToken, addressKey: string) => Promise<CarbonTotals>;

const readers = new WeakMap<FeedDependencies, ReadTotals>();

/** At least `totalRetirements` records are then stored. @param addressKey who asks, where places are given in turns */
export function readTotals(
  feed: FeedDependencies,
  token: FeedToken,
  addressKey: string,
): Promise<CarbonTotals> {
  const read = readers.get(feed) ?? createReadTotals(feed);
  readers.set(feed, read);
  return read(token, addressKey);
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
    // Without a place: one for each who waits for a token would leave none to others.
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
      // All were refused: without this, what none can begin would be kept.
      if (reading.askedBy.size === 0 && next.get(tokenAddress) === reading) next.delete(tokenAddress);
    });
    reading.askedBy.set(addressKey, taken);
    return taken;
  };
}
