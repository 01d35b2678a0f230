/**
 * Lists the audit log, newest first: who changed what, when, from where, and with what outcome.
 */
import { and, eq, isNotNull, isNull, notInArray, or, sql } from 'drizzle-orm';
import { hasOneOf, isAmong, isWithin } from '../../db/conditions.ts';
import { finderOf } from '../../db/findByIds.ts';
import { listerOf } from '../../db/keyset.ts';
import { apiKeys, auditEntries } from '../../db/tables/index.ts';

export type AuditEntry = typeof auditEntries.$inferSelect;

/** Any other stored outcome is an error code. */
const GOOD_OUTCOMES = ['OK', 'DRY_RUN'] as const;

export type AuditEntryKind = AuditEntry['kind'];

type AuditOutcome = (typeof GOOD_OUTCOMES)[number] | 'FAILED';

/** Null while the entry has no outcome. */
export function outcomeOf({ outcome }: Pick<AuditEntry, 'outcome'>): AuditOutcome | null {
  return outcome === null ? null : (GOOD_OUTCOMES.find((good) => good === outcome) ?? 'FAILED');
}

export const findAuditEntry = finderOf(auditEntries);

export const listAuditEntries = listerOf(auditEntries, 'startedAt', {
  callerSubjects: isAmong(auditEntries.callerSubject),
  apiKeyIds: isByOneOf,
  fields: isAmong(auditEntries.field),
  outcomes: (outcomes: readonly AuditOutcome[]) => or(sql`false`, ...outcomes.map(hasOutcome)),
  errorCodes: isAmong(auditEntries.outcome),
  kinds: isAmong(auditEntries.kind),
  unfinished: isUnfinished,
  targetIds: hasOneOf(auditEntries.targetIds),
  requestIds: isAmong(auditEntries.requestId),
  ...isWithin(auditEntries.startedAt),
});

/** Filters by key, and by the key's subject: the subject is fixed, and the log has an index of it. */
function isByOneOf(apiKeyIds: readonly string[]) {
  const subjects = sql`SELECT ${apiKeys.subject} FROM ${apiKeys} WHERE ${isAmong(apiKeys.id)(apiKeyIds)}`;
  return and(
    isAmong(auditEntries.apiKeyId)(apiKeyIds),
    sql`${auditEntries.callerSubject} = ANY (ARRAY(${subjects}))`,
  );
}

/** Mutations without an outcome, or entries with one. */
function isUnfinished(wanted: boolean) {
  return wanted
    ? and(eq(auditEntries.kind, 'MUTATION'), isNull(auditEntries.outcome))
    : isNotNull(auditEntries.outcome);
}

function hasOutcome(outcome: AuditOutcome) {
  return outcome === 'FAILED'
    ? notInArray(auditEntries.outcome, [...GOOD_OUTCOMES])
    : eq(auditEntries.outcome, outcome);
}
