/**
 * Lists the audit log, newest first: who changed what, when, from where, and with what outcome.
 */
import { and, eq, isNotNull, isNull, notInArray, or, sql } from 'drizzle-orm';
import type { ErrorCode } from '../../lib/errors.ts';
import { hasOneOf, isAmong, isWithin } from '../../db/conditions.ts';
import { finderOf } from '../../db/findByIds.ts';
import { rowsByMoment, type KeysetCursor, type PageSource } from '../../db/keyset.ts';
import { apiKeys, auditEntries } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';

export type AuditEntry = typeof auditEntries.$inferSelect;

const entries = rowsByMoment(auditEntries, 'startedAt');

/** Any other stored outcome is an error code. */
const GOOD_OUTCOMES = ['OK', 'DRY_RUN'] as const;

export type AuditEntryKind = AuditEntry['kind'];

type AuditOutcome = (typeof GOOD_OUTCOMES)[number] | 'FAILED';

/** Null while the entry has no outcome. */
export function outcomeOf({ outcome }: Pick<AuditEntry, 'outcome'>): AuditOutcome | null {
  return outcome === null ? null : (GOOD_OUTCOMES.find((good) => good === outcome) ?? 'FAILED');
}

interface AuditFilter {
  callerSubjects?: readonly string[] | null | undefined;
  apiKeyIds?: readonly string[] | null | undefined;
  fields?: readonly string[] | null | undefined;
  kinds?: readonly AuditEntryKind[] | null | undefined;
  outcomes?: readonly AuditOutcome[] | null | undefined;
  errorCodes?: readonly ErrorCode[] | null | undefined;
  /** True for mutations without an outcome; false for entries with one. */
  isUnfinished?: boolean | null | undefined;
  targetIds?: readonly string[] | null | undefined;
  requestIds?: readonly string[] | null | undefined;
  /** Unix seconds; `until` is excluded. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
}

export function listAuditEntries(
  deps: Needs<'db'>,
  filter: AuditFilter,
): PageSource<AuditEntry, KeysetCursor> {
  return entries(deps.db, matching(filter));
}

export const findAuditEntry = finderOf(auditEntries);

function matching(filter: AuditFilter) {
  const { outcomes, isUnfinished } = filter;
  return and(
    isAmong(auditEntries.callerSubject, filter.callerSubjects),
    isByOneOf(filter.apiKeyIds),
    isAmong(auditEntries.field, filter.fields),
    outcomes == null ? undefined : or(sql`false`, ...outcomes.map(hasOutcome)),
    isAmong(auditEntries.outcome, filter.errorCodes),
    isAmong(auditEntries.kind, filter.kinds),
    isUnfinished == null ? undefined : hasEnded(!isUnfinished),
    hasOneOf(auditEntries.targetIds, filter.targetIds),
    isAmong(auditEntries.requestId, filter.requestIds),
    isWithin(auditEntries.startedAt, filter.from, filter.until),
  );
}

/** Filters by key, and by the key's subject: the subject is fixed, and the log has an index of it. */
function isByOneOf(apiKeyIds: AuditFilter['apiKeyIds']) {
  const isByKey = isAmong(auditEntries.apiKeyId, apiKeyIds);
  return (
    isByKey &&
    and(
      isByKey,
      sql`${auditEntries.callerSubject} = ANY (ARRAY(SELECT ${apiKeys.subject} FROM ${apiKeys} WHERE ${isAmong(apiKeys.id, apiKeyIds)}))`,
    )
  );
}

function hasEnded(isEnded: boolean) {
  return isEnded
    ? isNotNull(auditEntries.outcome)
    : and(eq(auditEntries.kind, 'MUTATION'), isNull(auditEntries.outcome));
}

function hasOutcome(outcome: AuditOutcome) {
  return outcome === 'FAILED'
    ? notInArray(auditEntries.outcome, [...GOOD_OUTCOMES])
    : eq(auditEntries.outcome, outcome);
}
