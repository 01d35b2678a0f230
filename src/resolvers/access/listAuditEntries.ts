/**
 * Lists the audit log, newest first: who changed what, when, from where, and with what outcome.
 */
import {
  and,
  arrayContains,
  eq,
  gte,
  inArray,
  isNotNull,
  isNull,
  lt,
  notInArray,
  or,
  sql,
} from 'drizzle-orm';
import type { ErrorCode } from '../../lib/errors.ts';
import { countRows, keyset, type KeysetCursor, type KeysetPage } from '../../db/keyset.ts';
import { auditEntries } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';

export type AuditEntry = typeof auditEntries.$inferSelect;

const NEWEST_FIRST = {
  column: auditEntries.startedAt,
  id: auditEntries.id,
  type: 'timestamptz',
  direction: 'desc',
} as const;

/** A stored outcome that is neither OK nor DRY_RUN is an error code. */
type AuditOutcome = 'OK' | 'DRY_RUN' | 'FAILED';

interface AuditFilter {
  callerSubject?: string | null | undefined;
  apiKeyId?: string | null | undefined;
  field?: string | null | undefined;
  outcomes?: readonly AuditOutcome[] | null | undefined;
  errorCodes?: readonly ErrorCode[] | null | undefined;
  /** Entries that have no outcome, or only those that have one. */
  isUnfinished?: boolean | null | undefined;
  subjectId?: string | null | undefined;
  requestId?: string | null | undefined;
  /** Unix seconds; from is included, until is not. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
}

export async function listAuditEntries(
  deps: Needs<'db'>,
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

export function countAuditEntries(deps: Needs<'db'>, filter: AuditFilter): Promise<number> {
  return countRows(deps.db, auditEntries, and(...conditions(filter)));
}

function conditions(filter: AuditFilter) {
  const {
    callerSubject,
    apiKeyId,
    field,
    outcomes,
    errorCodes,
    isUnfinished,
    subjectId,
    requestId,
    from,
    until,
  } = filter;
  return [
    callerSubject == null ? undefined : eq(auditEntries.callerSubject, callerSubject),
    apiKeyId == null ? undefined : eq(auditEntries.apiKeyId, apiKeyId),
    field == null ? undefined : eq(auditEntries.field, field),
    outcomes == null ? undefined : or(sql`false`, ...outcomes.map(hasOutcome)),
    errorCodes == null ? undefined : inArray(auditEntries.outcome, [...errorCodes]),
    isUnfinished == null ? undefined : (isUnfinished ? isNull : isNotNull)(auditEntries.outcome),
    subjectId == null ? undefined : arrayContains(auditEntries.subjectIds, [subjectId]),
    requestId == null ? undefined : eq(auditEntries.requestId, requestId),
    from == null ? undefined : gte(auditEntries.startedAt, momentOf(from)),
    until == null ? undefined : lt(auditEntries.startedAt, momentOf(until)),
  ];
}

function hasOutcome(outcome: AuditOutcome) {
  return outcome === 'FAILED'
    ? notInArray(auditEntries.outcome, ['OK', 'DRY_RUN'])
    : eq(auditEntries.outcome, outcome);
}

function momentOf(unixSeconds: bigint): Date {
  return new Date(Number(unixSeconds) * 1000);
}

export function auditCursor(entry: AuditEntry): KeysetCursor {
  return { value: entry.startedAt.toISOString(), id: entry.id };
}
