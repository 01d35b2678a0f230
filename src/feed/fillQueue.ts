/**
 * The queue of tokens to fill: each token is in it once, and a request during its fill becomes one more fill.
 */
import pLimit from 'p-limit';
import type { Logger } from '../lib/logger.ts';
import type { FeedToken } from './appendRecords.ts';
import { fillToken, type FeedDependencies } from './fillToken.ts';
import { completeHinted } from './recordTransactions.ts';

/** Tokens filled at once: each holds at most ten pages of records in memory, and one connection. */
const MAX_CONCURRENT_FILLS = 4;

interface FillQueue {
  /** Resolves when the token was filled after this call, or its fill failed. */
  fill(token: FeedToken): Promise<void>;
  /** From now on, a finished fill is not followed by one more. */
  stop(): void;
  /** Resolves when the queued fills have ended. */
  ended(): Promise<void>;
}

export function createFillQueue(deps: FeedDependencies & { log: Logger }): FillQueue {
  const limit = pLimit(MAX_CONCURRENT_FILLS);
  /** Tokens queued or being filled; `again` when requested after their read may have begun. */
  const fills = new Map<string, { done: Promise<void>; started: boolean; again: boolean }>();
  let stopped = false;

  function fill(token: FeedToken): Promise<void> {
    const { tokenAddress } = token;
    const queued = fills.get(tokenAddress);
    // A queued fill will see everything; one that has started may have read too early.
    if (queued && !queued.started) return queued.done;
    if (queued) {
      queued.again = true;
      return queued.done.then(() => fills.get(tokenAddress)?.done);
    }
    const entry = { done: Promise.resolve(), started: false, again: false };
    fills.set(tokenAddress, entry);
    entry.done = limit(async () => {
      entry.started = true;
      await fillToken(deps, token).catch((error: unknown) => {
        // The next round finds the gap again.
        deps.log.warn({ tokenAddress, err: error }, 'feed not filled');
      });
      await completeHinted(deps, tokenAddress).catch((error: unknown) => {
        deps.log.warn({ tokenAddress, err: error }, 'transactions of records not looked up');
      });
      fills.delete(tokenAddress);
      // Goes to the end of the queue: tokens that are requested without pause must not exclude the others.
      if (entry.again && !stopped) void fill(token);
    });
    return entry.done;
  }

  return {
    fill,
    stop() {
      stopped = true;
    },
    async ended() {
      await Promise.all([...fills.values()].map((entry) => entry.done));
    },
  };
}
