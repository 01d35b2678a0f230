/**
 * Keeps the feed complete: fills tokens on request, and regularly compares the network's retirement counts with the
 * stored ones for every token. So a retirement appears even when its delivery never came.
 */
import { and, asc, gt, isNotNull, sql } from 'drizzle-orm';
import pLimit from 'p-limit';
import { projects, retirementRecords } from '../db/tables/index.ts';
import { messageOf } from '../lib/errors.ts';
import { MAX_TOKENS_PER_READ } from '../ledger/network/port.ts';
import type { Logger } from '../lib/logger.ts';
import { completeHinted, completeNext } from './recordTransactions.ts';
import type { FeedToken } from './appendRecords.ts';
import { fillToken, type FeedDependencies } from './fillToken.ts';

/** Tokens filled at once: each holds at most ten pages of records in memory, and one connection. */
const MAX_CONCURRENT_FILLS = 4;
/** The network may never name some transactions: after passes without success, at most so many rounds skip the search. */
const MAX_SKIPPED_ROUNDS = 15;

export interface Healer {
  /** Fills this token soon; requests for one token during its fill become one more fill. */
  requestFill(token: FeedToken): void;
  /** Compares every token soon; requests become one round. */
  requestRound(): void;
  /** Compares every token once; resolves when every gap found was filled, or its fill failed. */
  round(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

interface HealerDependencies extends FeedDependencies {
  log: Logger;
  healIntervalMs: number;
  /** Tokens compared per read; by default as many as the network takes. */
  tokensPerRead?: number;
}

export function createHealer(deps: HealerDependencies): Healer {
  const { tokensPerRead = MAX_TOKENS_PER_READ } = deps;
  const limit = pLimit(MAX_CONCURRENT_FILLS);
  /** Tokens queued or being filled; `again` when requested after their read may have begun. */
  const fills = new Map<string, { done: Promise<void>; started: boolean; again: boolean }>();
  let timer: NodeJS.Timeout | null = null;
  let roundUnderWay: Promise<void> | null = null;
  let roundRequested = false;
  let stopped = false;
  /** The search for unknown transactions: the position reached in this pass, and how many it found. */
  let lookedTo = 0n;
  let foundInPass = 0;
  let askedInPass = false;
  let roundsToSkip = 0;
  let skipAfterPass = 0;

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
        deps.log.warn({ tokenAddress, error: messageOf(error) }, 'feed not filled');
      });
      await completeHinted(deps, tokenAddress).catch((error: unknown) => {
        deps.log.warn({ tokenAddress, error: messageOf(error) }, 'transactions of records not looked up');
      });
      fills.delete(tokenAddress);
      // Goes to the end of the queue: tokens that are requested without pause must not exclude the others.
      if (entry.again && !stopped) void fill(token);
    });
    return entry.done;
  }

  async function compareAll(): Promise<void> {
    let after: string | null = null;
    while (!stopped) {
      const page = await readTokens(after);
      if (page.length === 0) return;
      await comparePage(page).catch((error: unknown) => {
        // The remaining tokens must not wait for one that the network can't answer about.
        deps.log.warn({ after, error: messageOf(error) }, 'tokens not compared');
      });
      after = page.at(-1)?.tokenAddress ?? null;
    }
  }

  async function comparePage(page: readonly (FeedToken & { stored: number })[]): Promise<void> {
    const counts = await deps.network.retirementCountsOf(page.map((token) => token.tokenAddress));
    const behind = page.filter((token, i) => {
      const answer = counts[i];
      return answer && 'totalRetirements' in answer && answer.totalRetirements > token.stored;
    });
    await Promise.all(behind.map(fill));
  }

  async function readTokens(after: string | null): Promise<(FeedToken & { stored: number })[]> {
    // With the table's name: by itself, Drizzle's column would be that of the inner table, and every token would count
    // as many records as the one with the most.
    const stored = sql<number>`(SELECT coalesce(max(r.index) + 1, 0) FROM ${retirementRecords} r
      WHERE r.token_address = ${projects}.token_address)`;
    const rows = await deps.db
      .select({ projectId: projects.id, tokenAddress: projects.tokenAddress, stored: stored.mapWith(Number) })
      .from(projects)
      .where(
        and(isNotNull(projects.tokenAddress), after === null ? undefined : gt(projects.tokenAddress, after)),
      )
      .orderBy(asc(projects.tokenAddress))
      .limit(tokensPerRead);
    return rows.map((row) => ({ ...row, tokenAddress: row.tokenAddress ?? '' }));
  }

  /**
   * Each round searches a bounded part of the records without a transaction; after passes without success, fewer
   * rounds search.
   */
  async function completeSome(): Promise<void> {
    if (roundsToSkip > 0) {
      roundsToSkip -= 1;
      return;
    }
    const { next, completed } = await completeNext(deps, lookedTo);
    foundInPass += completed;
    lookedTo = next ?? 0n;
    if (next !== null) {
      askedInPass = true;
      return;
    }
    const isFruitless = askedInPass && foundInPass === 0;
    skipAfterPass = isFruitless ? Math.min(2 * skipAfterPass + 1, MAX_SKIPPED_ROUNDS) : 0;
    roundsToSkip = skipAfterPass;
    foundInPass = 0;
    askedInPass = false;
  }

  /** One round at a time; requests made meanwhile become one more. */
  function runRound(): Promise<void> {
    roundRequested = true;
    roundUnderWay ??= (async () => {
      while (roundRequested && !stopped) {
        roundRequested = false;
        await compareAll().catch((error: unknown) => {
          deps.log.warn({ error: messageOf(error) }, 'feed round failed');
        });
        await completeSome().catch((error: unknown) => {
          deps.log.warn({ error: messageOf(error) }, 'transactions of records not looked up');
        });
      }
      roundUnderWay = null;
    })();
    return roundUnderWay;
  }

  return {
    requestFill(token) {
      if (!stopped) void fill(token);
    },
    requestRound: () => void runRound(),
    round: runRound,
    start() {
      void runRound();
      timer = setInterval(() => void runRound(), deps.healIntervalMs);
    },
    async stop() {
      stopped = true;
      if (timer) clearInterval(timer);
      await roundUnderWay;
      await Promise.all([...fills.values()].map((entry) => entry.done));
    },
  };
}
