/**
 * Keeps the feed complete: fills tokens on request, and regularly compares the network's retirement counts
 * with the stored ones for every token. So a retirement appears even if its delivery never came.
 */
import pLimit from 'p-limit';
import { MAX_TOKENS_PER_READ } from '../ledger/network/port.ts';
import type { Logger } from '../lib/logger.ts';
import { freshSingleFlight } from '../lib/singleFlight.ts';
import type { FeedToken } from './appendRecords.ts';
import { compareTokens } from './compareTokens.ts';
import { type FeedDependencies, fillToken } from './fillToken.ts';
import { completeHinted, completeNext } from './recordTransactions.ts';

export interface FeedFiller {
  /** Fills this token soon; requests for one token during its fill become one more fill. */
  requestFill(token: FeedToken): void;
  /**
   * Compares every token once, soon; requests made meanwhile become one more round. Resolves when every gap
   * found was filled, or its fill failed; never rejects.
   */
  round(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

interface FeedFillerDependencies extends FeedDependencies {
  log: Logger;
  feedCompareIntervalMs: number;
  /** Tokens compared per read; by default as many as the network takes. */
  tokensPerRead?: number;
}

/** Does nothing before `start`, except for requested fills and rounds. */
export function createFeedFiller(deps: FeedFillerDependencies): FeedFiller {
  const { log, tokensPerRead = MAX_TOKENS_PER_READ } = deps;
  const searchSome = createTransactionSearch(deps);
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;
  const fills = createFillQueue(deps, () => stopped);

  const round = freshSingleFlight(async () => {
    if (stopped) return;
    const options = { tokensPerRead, isStopped: () => stopped };
    await compareTokens(deps, fills.fill, options).catch((error: unknown) => {
      log.warn({ err: error }, 'feed round failed');
    });
    await searchSome().catch((error: unknown) => {
      log.warn({ err: error }, 'transactions of records not looked up');
    });
  });

  return {
    requestFill(token) {
      if (!stopped) void fills.fill(token);
    },
    round,
    start() {
      void round();
      timer = setInterval(() => void round(), deps.feedCompareIntervalMs);
    },
    async stop() {
      stopped = true;
      if (timer) clearInterval(timer);
      // Waits for the round under way; the new one does nothing any more.
      await round();
      await fills.ended();
    },
  };
}

/** Tokens filled at once: each holds at most ten pages of records in memory, and one connection. */
const MAX_CONCURRENT_FILLS = 4;

/**
 * The queue of tokens to fill: each token is in it once, and a request during its fill becomes one more fill.
 * @param isStopped once true, no finished fill is followed by one more
 */
function createFillQueue(deps: FeedDependencies & { log: Logger }, isStopped: () => boolean) {
  const limit = pLimit(MAX_CONCURRENT_FILLS);
  /** Tokens queued or being filled; `again` when requested after their read may have begun. */
  const fills = new Map<string, { done: Promise<void>; started: boolean; again: boolean }>();

  /** Resolves when the token was filled after this call, or its fill failed. */
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
      if (entry.again && !isStopped()) void fill(token);
    });
    return entry.done;
  }

  return {
    fill,
    /** Resolves when the queued fills have ended. */
    async ended() {
      await Promise.all([...fills.values()].map((entry) => entry.done));
    },
  };
}

/** Maximum calls that skip the search after fruitless passes: the network may never name some transactions. */
const MAX_SKIPPED_CALLS = 15;

/**
 * The regular search for records' missing transactions: each call searches a bounded part of a pass.
 * @returns a search that rejects at its end if a token was not looked up; the next pass looks it up again
 */
function createTransactionSearch(deps: Parameters<typeof completeNext>[0]): () => Promise<void> {
  let lookedTo = 0n;
  /** Whether this pass has asked without finding a transaction and without a failure; null before it asks. */
  let isFruitless: boolean | null = null;
  let callsToSkip = 0;
  let skipAfterPass = 0;

  return async () => {
    if (callsToSkip > 0) {
      callsToSkip -= 1;
      return;
    }
    const { next, completed, failures } = await completeNext(deps, lookedTo);
    lookedTo = next ?? 0n;
    if (next !== null) {
      isFruitless = isFruitless !== false && completed === 0 && failures.length === 0;
      if (failures.length > 0) throw failures[0];
      return;
    }
    skipAfterPass = isFruitless ? Math.min(2 * skipAfterPass + 1, MAX_SKIPPED_CALLS) : 0;
    callsToSkip = skipAfterPass;
    isFruitless = null;
  };
}
