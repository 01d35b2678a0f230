/**
 * Lists the platform's retirements, newest first: a buyer's own, or all of them for operators.
 */
import { and, inArray, type SQL } from 'drizzle-orm';
import { isAmong, isBetween, isWithin } from '../../db/conditions.ts';
import { rowsByMoment, type KeysetCursor, type PageSource } from '../../db/keyset.ts';
import { projects, retirements } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Retirement } from './findRetirement.ts';
import { matchingProjects } from './recordFilter.ts';

interface RetirementFilter {
  buyerIds?: readonly string[] | null | undefined;
  tokenAddresses?: readonly string[] | null | undefined;
  states?: readonly Retirement['state'][] | null | undefined;
  /** When the retirements were requested, in Unix seconds; `until` is excluded. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
  minTonnes?: bigint | null | undefined;
  maxTonnes?: bigint | null | undefined;
}

type ListNeeds = Needs<'db' | 'network'>;

const newestFirst = rowsByMoment(retirements, 'createdAt');

export function listRetirements(
  deps: ListNeeds,
  filter: RetirementFilter,
): PageSource<Retirement, KeysetCursor> {
  return newestFirst(deps.db, matching(deps, filter));
}

function matching(deps: ListNeeds, filter: RetirementFilter): SQL | undefined {
  const { buyerIds, tokenAddresses, states, from, until, minTonnes, maxTonnes } = filter;
  const meant = matchingProjects(deps, { tokenAddresses });
  return and(
    isAmong(retirements.buyerId, buyerIds),
    meant && inArray(retirements.projectId, deps.db.select({ id: projects.id }).from(projects).where(meant)),
    isAmong(retirements.state, states),
    isWithin(retirements.createdAt, from, until),
    isBetween(retirements.amountTonnes, minTonnes, maxTonnes),
  );
}
