/**
 * Encodes rows of the audit log for the database functions that insert and number them, in any transaction
 * (drizzle/platform/0001_rules.sql).
 */
import type { auditEntries } from './tables/index.ts';

/** A row of the audit log without the columns that the database numbers. */
export type AuditRow = Omit<typeof auditEntries.$inferInsert, 'writerId' | 'number'>;

/** Returns the row in the form that insert_audit_entries takes. */
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
