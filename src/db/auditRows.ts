/**
 * Rows of the audit log on their way to the database: its functions insert and number them, whichever transaction they
 * are written in (drizzle/platform/0001_rules.sql).
 */
import type { auditEntries } from './tables/index.ts';

/** Without the columns that the database numbers. */
export type AuditRow = Omit<typeof auditEntries.$inferInsert, 'writerId' | 'number'>;

/** As insert_audit_entries takes it. */
export function encodeAuditRow(row: AuditRow): object {
  return {
    id: row.id,
    kind: row.kind,
    started_at: row.startedAt,
    request_id: row.requestId,
    caller_subject: row.callerSubject,
    caller_roles: row.callerRoles,
    api_key_id: row.apiKeyId,
    remote_address: row.remoteAddress,
    field: row.field,
    outcome: row.outcome,
    ended_at: row.endedAt,
    target_ids: row.targetIds,
  };
}
