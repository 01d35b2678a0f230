/**
 * Keeps the feed complete: fills tokens on request, and regularly compares the network's retirement counts
 * with the stored ones for every token. So a retirement appears even if its delivery never came.
 */
import { MAX_TOKENS_PER_READ } from '../ledger/network/port.ts';
import type { Logger } from '../lib/logger.ts';
import { freshSingleFlight } from '../lib/singleFlight.ts';
import type { FeedToken } from './appendRecords.ts';
import { compareTokens } from './compareTokens.ts';
import { createFillQueue } from './fillQueue.ts';
import type { FeedDependencies } from './fillToken.ts';
import { createTransactionSearch } from './transactionSearch.ts';

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
  const fills = createFillQueue(deps);
  const searchSome = createTransactionSearch(deps);
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;

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
      fills.stop();
      if (timer) clearInterval(timer);
      // Waits for the round under way; the new one does nothing any more.
      await round();
      await fills.ended();
    },
  };
}
