/**
 * Lists the platform's retirements, newest first: a buyer's own, or all of them for operators.
 */
import { and, eq } from 'drizzle-orm';
import { keyset, type KeysetCursor, type KeysetPage } from '../db/keyset.ts';
import { retirements } from '../db/schema/index.ts';
import type { Dependencies } from './dependencies.ts';
import type { Retirement } from './findRetirement.ts';

export interface RetirementFilter {
  buyerId?: string | null | undefined;
  projectId?: string | null | undefined;
  state?: Retirement['state'] | null | undefined;
}

const NEWEST_FIRST = {
  column: retirements.requestedAt,
  id: retirements.id,
  type: 'timestamptz',
  direction: 'desc',
} as const;

export async function listRetirements(
  deps: Pick<Dependencies, 'db'>,
  filter: RetirementFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<Retirement[]> {
  const { where, orderBy } = keyset(NEWEST_FIRST, page);
  return deps.db
    .select()
    .from(retirements)
    .where(
      and(
        where,
        filter.buyerId == null ? undefined : eq(retirements.buyerId, filter.buyerId),
        filter.projectId == null ? undefined : eq(retirements.projectId, filter.projectId),
        filter.state == null ? undefined : eq(retirements.state, filter.state),
      ),
    )
    .orderBy(...orderBy)
    .limit(page.limit);
}

export function retirementCursor(retirement: Retirement): KeysetCursor {
  return { value: retirement.requestedAt.toISOString(), id: retirement.id };
}
