/**
 * Lists off-ramp sessions, newest first: a farmer's own, or all of them for operators.
 */
import { and, eq, inArray, type SQL } from 'drizzle-orm';
import { isAmong, isBetween, isTrueOf, isWithin } from '../../../db/conditions.ts';
import { rowsByMoment, type KeysetCursor, type PageSource } from '../../../db/keyset.ts';
import { offRampSessions, receipts } from '../../../db/tables/index.ts';
import type { Needs } from '../../core/dependencies.ts';
import type { OffRampSession, OffRampState } from './findOffRampSession.ts';
import { whereOverdue } from '../../operations/overdueWork.ts';
import { whereStranded } from '../../operations/strandedSessions.ts';

type Lister = Needs<'db' | 'network' | 'ramp'>;

interface OffRampSessionFilter {
  /** Sessions of this farmer's receipts, including those that an operator requested. */
  visibleTo?: string | null | undefined;
  receiptTokenAddresses?: readonly string[] | null | undefined;
  farmerIds?: readonly string[] | null | undefined;
  states?: readonly OffRampState[] | null | undefined;
  /** Whether the session waits for another ramp provider than the configured one. */
  stranded?: boolean | null | undefined;
  /** Whether the session should have progressed further by now. */
  overdue?: boolean | null | undefined;
  /** When the sessions were requested, in Unix seconds; `until` is excluded. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
  /** Whole kilograms. */
  minTokenAmount?: bigint | null | undefined;
  maxTokenAmount?: bigint | null | undefined;
}

const newestFirst = rowsByMoment(offRampSessions, 'createdAt');

export function listOffRampSessions(
  deps: Lister,
  filter: OffRampSessionFilter,
): PageSource<OffRampSession, KeysetCursor> {
  return newestFirst(deps.db, matching(deps, filter));
}

function matching(deps: Lister, filter: OffRampSessionFilter): SQL | undefined {
  const { visibleTo, receiptTokenAddresses } = filter;
  const addresses = receiptTokenAddresses?.flatMap((text) => deps.network.normalizeAddress(text) ?? []);
  return and(
    visibleTo == null ? undefined : eq(offRampSessions.farmerId, visibleTo),
    addresses === undefined ? undefined : ofReceipts(deps, addresses),
    isAmong(offRampSessions.farmerId, filter.farmerIds),
    isAmong(offRampSessions.state, filter.states),
    isTrueOf(whereStranded(deps), filter.stranded),
    isTrueOf(whereOverdue, filter.overdue),
    isWithin(offRampSessions.createdAt, filter.from, filter.until),
    isBetween(offRampSessions.tokenAmountKg, filter.minTokenAmount, filter.maxTokenAmount),
  );
}

function ofReceipts({ db }: Lister, addresses: readonly string[]): SQL {
  const meant = db
    .select({ id: receipts.id })
    .from(receipts)
    .where(isAmong(receipts.tokenAddress, addresses));
  return inArray(offRampSessions.receiptId, meant);
}
