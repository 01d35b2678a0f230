/**
 * registry: a token's public retirement history, read from the token itself. Records are immutable, so each
 * record is read from the network once and stored. The totals are read every time.
 */
import { and, eq, lt } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { keysetOf, type KeysetPage } from '../../db/keyset.ts';
import { retirementRecords } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { FeedRecord } from '../../feed/followFeed.ts';
import type { CarbonTotals } from '../../ledger/network/port.ts';
import type { Needs } from '../core/dependencies.ts';
import { findProjectByToken, type TokenizedProject } from './findProject.ts';
import { readTotals } from './publicNodeReads.ts';

/** Limit on one answer; longer histories are paged through the connection. */
export const MAX_REGISTRY_RECORDS = 10_000;

export interface Registry {
  project: TokenizedProject;
  totals: CarbonTotals;
}

/**
 * Returns null when no project has a token at this address.
 * @param addressKey the client's key, by which places are given in turn
 * @throws NetworkUnavailable; DomainError OVERLOADED
 */
export async function readRegistry(
  deps: Needs<'db' | 'network' | 'feed'>,
  tokenAddress: string,
  addressKey: string,
): Promise<Registry | null> {
  const project = await findProjectByToken(deps, tokenAddress);
  if (project === null) return null;
  const token = { projectId: project.id, tokenAddress: project.tokenAddress };
  const totals = await readTotals(deps.feed, token, addressKey);
  return { project, totals };
}

/**
 * Every record that the registry's totals count, ascending by index.
 * @throws DomainError RESULT_TOO_LARGE
 */
export async function readAllRecords(
  deps: Needs<'db' | 'publicReads' | 'historyCache'>,
  registry: Registry,
): Promise<readonly FeedRecord[]> {
  const { totalRetirements } = registry.totals;
  if (totalRetirements > MAX_REGISTRY_RECORDS) {
    throw new DomainError(
      'RESULT_TOO_LARGE',
      `The token has ${totalRetirements} retirement records, at most ${MAX_REGISTRY_RECORDS} fit one answer. ` +
        'Page through "recordsConnection" instead.',
      { totalRetirements, limit: MAX_REGISTRY_RECORDS },
    );
  }
  const { tokenAddress } = registry.project;
  const read = () => readRecords(deps, registry, { limit: MAX_REGISTRY_RECORDS, inverted: false });
  return deps.historyCache.take({ tokenAddress, count: totalRetirements }, read);
}

/** A page of records; the cursor is the record's index. */
export async function readRecords(
  { db, publicReads }: Needs<'db' | 'publicReads'>,
  registry: Registry,
  page: KeysetPage<number>,
): Promise<FeedRecord[]> {
  const records = await publicReads.run((anyDb) => selectRecords(anyDb, registry, page));
  const from = (page.after ?? -1) + 1;
  const until = Math.min(page.before ?? Number.POSITIVE_INFINITY, registry.totals.totalRetirements);
  // A replica may lack records that the totals count. Indexes have no gaps, so too few records show the lag.
  return records.length >= Math.min(page.limit, until - from) ? records : selectRecords(db, registry, page);
}

async function selectRecords(db: Db, registry: Registry, page: KeysetPage<number>): Promise<FeedRecord[]> {
  const { index, tokenAddress } = retirementRecords;
  const { where, orderBy } = keysetOf(index, page);
  // Records appended after the totals were read would contradict them.
  const isCounted = lt(index, registry.totals.totalRetirements);
  return db
    .select()
    .from(retirementRecords)
    .where(and(eq(tokenAddress, registry.project.tokenAddress), isCounted, where))
    .orderBy(orderBy)
    .limit(page.limit);
}
