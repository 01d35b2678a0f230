/**
 * Keeps the feed complete: fills tokens on request, and regularly compares the network's retirement counts with the
 * stored ones for every token. So a retirement appears even when its delivery never came.
 */
import { MAX_TOKENS_PER_READ } from '../ledger/network/port.ts';
import type { Logger } from '../lib/logger.ts';
import type { FeedToken } from './appendRecords.ts';
import { compareTokens } from './compareTokens.ts';
import { createFillQueue } from './fillQueue.ts';
import type { FeedDependencies } from './fillToken.ts';
import { createTransactionSearch } from './transactionSearch.ts';

export interface FeedFiller {
  /** Fills this token soon; requests for one token during its fill become one more fill. */
  requestFill(token: FeedToken): void;
  /** Compares every token soon; requests become one round. */
  requestRound(): void;
  /** Compares every token once; resolves when every gap found was filled, or its fill failed. */
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

export function createFeedFiller(deps: FeedFillerDependencies): FeedFiller {
  const { log, tokensPerRead = MAX_TOKENS_PER_READ } = deps;
  const fills = createFillQueue(deps);
  const searchSome = createTransactionSearch(deps);
  let timer: NodeJS.Timeout | null = null;
  let roundUnderWay: Promise<void> | null = null;
  let roundRequested = false;
  let stopped = false;

  /** One round at a time; requests made meanwhile become one more. */
  function runRound(): Promise<void> {
    roundRequested = true;
    roundUnderWay ??= (async () => {
      while (roundRequested && !stopped) {
        roundRequested = false;
        const options = { tokensPerRead, isStopped: () => stopped };
        await compareTokens(deps, fills.fill, options).catch((error: unknown) => {
          log.warn({ err: error }, 'feed round failed');
        });
        await searchSome().catch((error: unknown) => {
          log.warn({ err: error }, 'transactions of records not looked up');
        });
      }
      roundUnderWay = null;
    })();
    return roundUnderWay;
  }

  return {
    requestFill(token) {
      if (!stopped) void fills.fill(token);
    },
    requestRound: () => void runRound(),
    round: runRound,
    start() {
      void runRound();
      timer = setInterval(() => void runRound(), deps.feedCompareIntervalMs);
    },
    async stop() {
      stopped = true;
      fills.stop();
      if (timer) clearInterval(timer);
      await roundUnderWay;
      await fills.ended();
    },
  };
}
