/**
 * Lists the audit trail, newest first: who changed what, when, from where, and with what outcome.
 */
import { and, arrayContains, eq, gte, isNull, lt } from 'drizzle-orm';
import { keyset, type KeysetCursor, type KeysetPage } from '../db/keyset.ts';
import { auditEntries } from '../db/schema/index.ts';
import type { Dependencies } from './dependencies.ts';

export type AuditEntry = typeof auditEntries.$inferSelect;

const NEWEST_FIRST = {
  column: auditEntries.startedAt,
  id: auditEntries.id,
  type: 'timestamptz',
  direction: 'desc',
} as const;

export interface AuditFilter {
  callerSubject?: string | null | undefined;
  apiKeyId?: string | null | undefined;
  field?: string | null | undefined;
  outcome?: string | null | undefined;
  /** Only entries that have none. */
  isUnfinished?: boolean | null | undefined;
  subjectId?: string | null | undefined;
  requestId?: string | null | undefined;
  /** Unix seconds; from is included, until is not. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
}

export async function listAuditEntries(
  deps: Pick<Dependencies, 'db'>,
  filter: AuditFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<AuditEntry[]> {
  const { where, orderBy } = keyset(NEWEST_FIRST, page);
  return deps.db
    .select()
    .from(auditEntries)
    .where(and(where, ...conditions(filter)))
    .orderBy(...orderBy)
    .limit(page.limit);
}

function conditions(filter: AuditFilter) {
  const { callerSubject, apiKeyId, field, outcome, isUnfinished, subjectId, requestId, from, until } = filter;
  return [
    callerSubject == null ? undefined : eq(auditEntries.callerSubject, callerSubject),
    apiKeyId == null ? undefined : eq(auditEntries.apiKeyId, apiKeyId),
    field == null ? undefined : eq(auditEntries.field, field),
    outcome == null ? undefined : eq(auditEntries.outcome, outcome),
    isUnfinished === true ? isNull(auditEntries.outcome) : undefined,
    subjectId == null ? undefined : arrayContains(auditEntries.subjectIds, [subjectId]),
    requestId == null ? undefined : eq(auditEntries.requestId, requestId),
    from == null ? undefined : gte(auditEntries.startedAt, momentOf(from)),
    until == null ? undefined : lt(auditEntries.startedAt, momentOf(until)),
  ];
}

function momentOf(unixSeconds: bigint): Date {
  return new Date(Number(unixSeconds) * 1000);
}

export function auditCursor(entry: AuditEntry): KeysetCursor {
  return { value: entry.startedAt.toISOString(), id: entry.id };
}
