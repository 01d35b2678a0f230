/**
 * Service accounts' keys, the trail of who changed what, and the counters behind the rate limits.
 */
import { sql } from 'drizzle-orm';
import { check, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, moment } from './columns.ts';

/** A key of a server-to-server client. Fixed once made, but for its revocation and its last use. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid('id').primaryKey(),
    /** For people: which client uses it. */
    name: text('name').notNull(),
    /** SHA-256 of the whole key, which has 256 random bits: nothing to guess, so nothing to slow down. */
    keyHash: bytes('key_hash').notNull(),
    subject: text('subject').notNull(),
    roles: text('roles').array().notNull(),
    warehouseIds: text('warehouse_ids').array().notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    revokedBy: text('revoked_by'),
    revokedAt: moment('revoked_at'),
    /** Written every few minutes at most. */
    lastUsedAt: moment('last_used_at'),
  },
  (t) => [
    index('api_keys_created').on(t.createdAt, t.id),
    index('api_keys_subject').on(t.subject),
    check('api_keys_hash', sql`octet_length(key_hash) = 32`),
    check('api_keys_roles', sql`cardinality(roles) > 0`),
    check('api_keys_expiry', sql`expires_at > created_at`),
    check('api_keys_revocation', sql`(revoked_at IS NULL) = (revoked_by IS NULL)`),
  ],
);

/**
 * One row for each field of each mutation, written before it runs; its outcome is added once, afterwards.
 * A row without an outcome is of a mutation under way, or of a process that was killed in the middle of it.
 */
export const auditEntries = pgTable(
  'audit_entries',
  {
    id: uuid('id').primaryKey(),
    startedAt: moment('started_at').notNull(),
    requestId: text('request_id').notNull(),
    /** Null for the public. */
    callerSubject: text('caller_subject'),
    callerRoles: text('caller_roles').array().notNull(),
    apiKeyId: uuid('api_key_id'),
    remoteAddress: text('remote_address').notNull(),
    field: text('field').notNull(),
    /** OK, or the code of the error. */
    outcome: text('outcome'),
    endedAt: moment('ended_at'),
    /** What it was about: ids and addresses that the input named or the answer has. */
    subjectIds: text('subject_ids').array().notNull(),
  },
  (t) => [
    index('audit_entries_started').on(t.startedAt, t.id),
    index('audit_entries_caller').on(t.callerSubject, t.startedAt, t.id),
    index('audit_entries_subjects').using('gin', t.subjectIds),
    check('audit_entries_outcome', sql`(outcome IS NULL) = (ended_at IS NULL)`),
  ],
);

/** What callers and addresses used up, shared by instances. The shape is the rate limiter's. */
export const rateLimits = pgTable(
  'rate_limits',
  {
    key: text('key').primaryKey(),
    points: integer('points').notNull(),
    /** When the counting begins anew. */
    expire: moment('expire'),
  },
  (t) => [index('rate_limits_expire').on(t.expire)],
);
