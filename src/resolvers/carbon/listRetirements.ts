/**
 * Lists the platform's retirements, newest first: a buyer's own, or all of them for operators.
 */
import { and, eq, type SQL } from 'drizzle-orm';
import { countRows, keyset, type KeysetCursor, type KeysetPage } from '../../db/keyset.ts';
import { retirements } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Retirement } from './findRetirement.ts';

interface RetirementFilter {
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
  deps: Needs<'db'>,
  filter: RetirementFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<Retirement[]> {
  const { where, orderBy } = keyset(NEWEST_FIRST, page);
  return deps.db
    .select()
    .from(retirements)
    .where(and(where, matching(filter)))
    .orderBy(...orderBy)
    .limit(page.limit);
}

export function countRetirements(deps: Needs<'db'>, filter: RetirementFilter): Promise<number> {
  return countRows(deps.db, retirements, matching(filter));
}

function matching({ buyerId, projectId, state }: RetirementFilter): SQL | undefined {
  return and(
    buyerId == null ? undefined : eq(retirements.buyerId, buyerId),
    projectId == null ? undefined : eq(retirements.projectId, projectId),
    state == null ? undefined : eq(retirements.state, state),
  );
}

export function retirementCursor(retirement: Retirement): KeysetCursor {
  return { value: retirement.requestedAt.toISOString(), id: retirement.id };
}
