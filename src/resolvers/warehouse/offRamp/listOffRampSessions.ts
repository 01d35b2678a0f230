/**
 * Lists off-ramp sessions, newest first: a farmer's own, or all of them for operators.
 */
import { and, eq, or, sql, type SQL } from 'drizzle-orm';
import { countRows, keyset, type KeysetCursor, type KeysetPage } from '../../../db/keyset.ts';
import { offRampSessions } from '../../../db/tables/index.ts';
import type { Needs } from '../../core/dependencies.ts';
import type { OffRampSession, OffRampState } from './findOffRampSession.ts';
import { whereStranded } from '../../operations/strandedSessions.ts';

type Lister = Needs<'db' | 'ramp'>;

interface OffRampSessionFilter {
  /** Sessions that this subject asked for, or that were asked for on this farmer's behalf. */
  visibleTo?: string | null | undefined;
  receiptId?: string | null | undefined;
  state?: OffRampState | null | undefined;
  /** Those that wait for another ramp provider than the one in use. */
  stranded?: boolean | null | undefined;
}

const NEWEST_FIRST = {
  column: offRampSessions.createdAt,
  id: offRampSessions.id,
  type: 'timestamptz',
  direction: 'desc',
} as const;

export async function listOffRampSessions(
  deps: Lister,
  filter: OffRampSessionFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<OffRampSession[]> {
  const { where, orderBy } = keyset(NEWEST_FIRST, page);
  return deps.db
    .select()
    .from(offRampSessions)
    .where(and(where, matching(deps, filter)))
    .orderBy(...orderBy)
    .limit(page.limit);
}

export function countOffRampSessions(deps: Lister, filter: OffRampSessionFilter): Promise<number> {
  return countRows(deps.db, offRampSessions, matching(deps, filter));
}

function matching(deps: Lister, filter: OffRampSessionFilter): SQL | undefined {
  const { visibleTo, receiptId, state, stranded } = filter;
  return and(
    visibleTo == null
      ? undefined
      : or(eq(offRampSessions.requestedBy, visibleTo), eq(offRampSessions.farmerId, visibleTo)),
    receiptId == null ? undefined : eq(offRampSessions.receiptId, receiptId),
    state == null ? undefined : eq(offRampSessions.state, state),
    stranded == null ? undefined : sql`(${whereStranded(deps)}) = ${stranded}`,
  );
}

export function offRampSessionCursor(session: OffRampSession): KeysetCursor {
  return { value: session.createdAt.toISOString(), id: session.id };
}
