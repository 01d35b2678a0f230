/**
 * Finds and lists retirements, and finds the transactions of a submission's target.
 */
import { asc, eq, inArray } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { findByPairs, findersOf } from '../../db/findByIds.ts';
import { attempts, retirements, submissions, projects } from '../../db/tables/index.ts';
import { isOneOf, type Pair } from '../../db/manyRows.ts';
import { createBatcher, type Batcher } from '../../lib/batches.ts';
import { groupBy } from '../../lib/groupBy.ts';
import type { Needs } from '../core/dependencies.ts';
import type { FollowedKind } from '../core/changeFollower.ts';
import { isAmong, isAtLeast, isAtMost, isWithin } from '../../db/conditions.ts';
import { listerOf } from '../../db/keyset.ts';
import { matchingProjects } from './recordFilter.ts';
import { getOrMake } from '../../lib/getOrMake.ts';

export type Retirement = typeof retirements.$inferSelect;

/**
 * Many requests wait for retirements that are settled together, so concurrent reads share one statement at a
 * time. For a thousand of them that takes half of the time, or a third, of a statement for each turn of the
 * event loop (createSharedRead).
 */
const readers = new WeakMap<Db, Batcher<string, Retirement | null>>();
const MAX_RETIREMENTS_PER_READ = 500;
/** More than the number of requests that can wait. */
const MAX_WAITING = 20_000;

export function findRetirement({ db }: Needs<'db'>, id: string): Promise<Retirement | null> {
  return getOrMake(readers, db, () => createReader(db)).submit(id);
}

function createReader(db: Db): Batcher<string, Retirement | null> {
  const limits = { maxItems: MAX_RETIREMENTS_PER_READ, maxWaiting: MAX_WAITING };
  return createBatcher({ ...limits, run: (ids) => readRetirements(db, ids) });
}

async function readRetirements(db: Db, ids: readonly string[]): Promise<(Retirement | null)[]> {
  const found = await findRetirementsByIds({ db }, ids);
  return ids.map((id) => found.get(id) ?? null);
}

export const findRetirementsByIds = findersOf(retirements);

/** How subscribers follow retirements. */
export const FOLLOWED_RETIREMENTS: FollowedKind<Retirement> = {
  findMany: findRetirementsByIds,
  hasEnded: ({ state }) => state === 'RETIRED' || state === 'REFUSED',
  hidden: [],
};

/**
 * Finds the platform's retirements that records belong to. Records of other holders are not in the map.
 * @param places ids of projects, with indexes of records within the project's token
 */
export function findRetirementsOfRecords(
  { db }: Needs<'db'>,
  places: readonly Pair[],
): Promise<Map<Pair, Retirement>> {
  const { projectId, recordIndex } = retirements;
  return findByPairs(db, retirements, [projectId, recordIndex], places, (retirement) => [
    retirement.projectId,
    retirement.recordIndex,
  ]);
}

/**
 * Every transaction that was ever signed for each target, oldest first. The limit on attempts bounds each list.
 * Attempts are ordered by number: they are dated by their process, whose clock may be wrong.
 */
export async function readTransactions({ db }: Needs<'db'>, targetIds: readonly string[]) {
  const found = await db
    .select({
      targetId: submissions.targetId,
      submissionId: submissions.id,
      txHash: attempts.hash,
      kind: submissions.kind,
      state: attempts.state,
      signedAt: attempts.createdAt,
      decidedAt: attempts.decidedAt,
    })
    .from(attempts)
    .innerJoin(submissions, eq(submissions.id, attempts.submissionId))
    .where(isOneOf(submissions.targetId, targetIds))
    .orderBy(asc(submissions.createdAt), asc(submissions.id), asc(attempts.number));
  return groupBy(found, ({ targetId }) => targetId);
}

/** One signed transaction of a submission. */
export type SubmissionTransaction =
  Awaited<ReturnType<typeof readTransactions>> extends Map<string, (infer One)[]> ? One : never;

export const listRetirements = listerOf(retirements, 'createdAt', {
  buyerIds: isAmong(retirements.buyerId),
  tokenAddresses: (tokenAddresses: readonly string[], deps: Needs<'db' | 'network'>) =>
    inArray(
      retirements.projectId,
      deps.db.select({ id: projects.id }).from(projects).where(matchingProjects(deps, { tokenAddresses })),
    ),
  states: isAmong(retirements.state),
  ...isWithin(retirements.createdAt),
  minTonnes: isAtLeast(retirements.amountTonnes),
  maxTonnes: isAtMost(retirements.amountTonnes),
});
