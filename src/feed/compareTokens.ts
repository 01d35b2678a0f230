/**
 * Compares the network's retirement counts with the stored ones, and fills the tokens that lack records.
 */
import { and, asc, gt, isNotNull, sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { projects, retirementRecords } from '../db/tables/index.ts';
import type { Logger } from '../lib/logger.ts';
import type { FeedToken } from './appendRecords.ts';
import type { FeedDependencies } from './fillToken.ts';

export interface Counted extends FeedToken {
  /** Records in the database. */
  stored: number;
}

type Fill = (token: FeedToken) => Promise<void>;
type Deps = FeedDependencies & { log: Logger };

/** Compares every token once. */
export async function compareTokens(
  deps: Deps,
  fill: Fill,
  { tokensPerRead, isStopped }: { tokensPerRead: number; isStopped: () => boolean },
): Promise<void> {
  let after: string | null = null;
  while (!isStopped()) {
    const page = await readTokens(deps.db, after, tokensPerRead);
    if (page.length === 0) return;
    await comparePage(deps, page, fill).catch((error: unknown) => {
      // The remaining tokens must not wait for one that the network can't answer about.
      deps.log.warn({ after, err: error }, 'tokens not compared');
    });
    after = page.at(-1)?.tokenAddress ?? null;
  }
}

async function comparePage(deps: Deps, page: readonly Counted[], fill: Fill): Promise<void> {
  const counts = await deps.network.retirementCountsOf(page.map((token) => token.tokenAddress));
  for (const answer of counts) {
    if (!('error' in answer)) continue;
    const { tokenAddress, error } = answer;
    deps.log.warn({ tokenAddress, err: error }, 'token not compared');
  }
  const behind = page.filter((token, i) => {
    const answer = counts[i];
    return answer && 'totalRetirements' in answer && answer.totalRetirements > token.stored;
  });
  await Promise.all(behind.map(fill));
}

/** Reads the next tokens in the order of their addresses. */
export async function readTokens(db: Db, after: string | null, limit: number): Promise<Counted[]> {
  // The column has the table's name: Drizzle's column alone would be the inner table's, and every token would
  // have the count of the token with the most records.
  const stored = sql<number>`(SELECT coalesce(max(r.index) + 1, 0) FROM ${retirementRecords} r
    WHERE r.token_address = ${projects}.token_address)`;
  const rows = await db
    .select({ projectId: projects.id, tokenAddress: projects.tokenAddress, stored: stored.mapWith(Number) })
    .from(projects)
    .where(
      and(isNotNull(projects.tokenAddress), after === null ? undefined : gt(projects.tokenAddress, after)),
    )
    .orderBy(asc(projects.tokenAddress))
    .limit(limit);
  return rows.map((row) => ({ ...row, tokenAddress: row.tokenAddress ?? '' }));
}
