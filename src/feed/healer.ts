/**
 * The healer keeps the feed complete: at once for tokens that something nudged, and for every token within a
 * round of the periodic comparison of the network's retirement counts with the stored ones. So a retirement
 * whose delivery never came appears all the same.
 */
import { and, asc, gt, isNotNull, sql } from 'drizzle-orm';
import pLimit from 'p-limit';
import { projects, retirementRecords } from '../db/schema/index.ts';
import { messageOf } from '../errors.ts';
import { MAX_TOKENS_PER_READ } from '../ledger/network/port.ts';
import type { Logger } from '../logger.ts';
import { fillToken, type FeedDependencies, type FeedToken } from './fillToken.ts';

/** Tokens filled at once: each holds at most one page of records in memory and one connection. */
const MAX_CONCURRENT_FILLS = 4;

export interface Healer {
  /** Fills this token soon; many nudges of one token while it is being filled become one more fill. */
  nudge(token: FeedToken): void;
  /** Compares every token soon; many requests become one round. */
  requestRound(): void;
  /** Compares every token once; resolves when all holes found were filled or failed. */
  round(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

export interface HealerDependencies extends FeedDependencies {
  log: Logger;
  healIntervalMs: number;
  /** Tokens compared at once; as many as the network takes unless given. */
  tokensPerRead?: number;
}

export function createHealer(deps: HealerDependencies): Healer {
  const { tokensPerRead = MAX_TOKENS_PER_READ } = deps;
  const limit = pLimit(MAX_CONCURRENT_FILLS);
  /** Tokens queued or being filled; `again` when nudged after their read may have begun. */
  const fills = new Map<string, { done: Promise<void>; started: boolean; again: boolean }>();
  let timer: NodeJS.Timeout | null = null;
  let roundUnderWay: Promise<void> | null = null;
  let roundRequested = false;
  let stopped = false;

  function fill(token: FeedToken): Promise<void> {
    const { tokenAddress } = token;
    const queued = fills.get(tokenAddress);
    // A fill that has not started yet will see everything; one that has may have read too early.
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
        // The next round finds the hole again.
        deps.log.warn({ tokenAddress, error: messageOf(error) }, 'feed not filled');
      });
      fills.delete(tokenAddress);
      // Behind all that wait: a few tokens that never rest must not keep the others out.
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
        // The tokens behind these must not wait for what the network can't tell about them.
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
    const stored = sql<number>`(SELECT coalesce(max(r.index) + 1, 0) FROM ${retirementRecords} r
      WHERE r.token_address = ${projects.tokenAddress})`;
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

  /** One round at a time; requests made meanwhile become one more. */
  function runRound(): Promise<void> {
    roundRequested = true;
    roundUnderWay ??= (async () => {
      while (roundRequested && !stopped) {
        roundRequested = false;
        await compareAll().catch((error: unknown) => {
          deps.log.warn({ error: messageOf(error) }, 'feed round failed');
        });
      }
      roundUnderWay = null;
    })();
    return roundUnderWay;
  }

  return {
    nudge(token) {
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
