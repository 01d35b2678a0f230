/**
 * registry: a token's public retirement history, read from the token itself. Records are immutable, so each
 * is read from the network once and kept; the totals are read every time.
 */
import { and, asc, desc, eq, gt, lt } from 'drizzle-orm';
import type { KeysetPage } from '../db/keyset.ts';
import { retirementRecords } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import { fillToken } from '../feed/fillToken.ts';
import type { FeedRecord } from '../feed/followFeed.ts';
import type { CarbonTotals } from '../ledger/network/port.ts';
import type { Dependencies } from './dependencies.ts';
import { requireProjectByToken, type TokenizedProject } from './findProject.ts';

/** A longer history than this doesn't belong into one answer; the connection pages through it. */
export const MAX_REGISTRY_RECORDS = 10_000;

export interface Registry {
  project: TokenizedProject;
  totals: CarbonTotals;
}

/** @throws DomainError NOT_FOUND; NetworkUnavailable */
export async function readRegistry(deps: Dependencies, tokenAddress: string): Promise<Registry> {
  const project = await requireProjectByToken(deps, tokenAddress);
  const totals = await fillToken(deps.feed, { projectId: project.id, tokenAddress: project.tokenAddress });
  return { project, totals };
}

/**
 * Every record that the registry's totals count, ascending by index.
 * @throws DomainError RESULT_TOO_LARGE
 */
export async function readAllRecords(
  deps: Pick<Dependencies, 'db'>,
  registry: Registry,
): Promise<FeedRecord[]> {
  const { totalRetirements } = registry.totals;
  if (totalRetirements > MAX_REGISTRY_RECORDS) {
    throw new DomainError(
      'RESULT_TOO_LARGE',
      `The token has ${totalRetirements} retirement records, at most ${MAX_REGISTRY_RECORDS} fit one answer. ` +
        'Page through "recordsConnection" instead.',
      { totalRetirements, maximum: MAX_REGISTRY_RECORDS },
    );
  }
  return readRecords(deps, registry, { limit: MAX_REGISTRY_RECORDS, inverted: false });
}

/** A page of records; the cursor is the record's index. */
export async function readRecords(
  deps: Pick<Dependencies, 'db'>,
  registry: Registry,
  page: KeysetPage<number>,
): Promise<FeedRecord[]> {
  const { index } = retirementRecords;
  return deps.db
    .select()
    .from(retirementRecords)
    .where(
      and(
        eq(retirementRecords.tokenAddress, registry.project.tokenAddress),
        // Records that came after the totals were read would contradict them.
        lt(index, registry.totals.totalRetirements),
        page.after === undefined ? undefined : gt(index, page.after),
        page.before === undefined ? undefined : lt(index, page.before),
      ),
    )
    .orderBy(page.inverted ? desc(index) : asc(index))
    .limit(page.limit);
}
