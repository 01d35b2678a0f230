/**
 * API keys of service accounts, revoked tokens, the audit log, and the counters of the rate limits.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  index,
  integer,
  pgEnum,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';
import { bytes, moment } from './columns.ts';

/** A key of a server-to-server client. Immutable except for revocation and last use. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid('id').primaryKey(),
    /** The client that uses the key, for operators. */
    name: text('name').notNull(),
    /** SHA-256 of the whole key. The key has 256 random bits, so a slow hash adds nothing. */
    keyHash: bytes('key_hash').notNull(),
    subject: text('subject').notNull(),
    roles: text('roles').array().notNull(),
    warehouseIds: text('warehouse_ids').array().notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    revokedBy: text('revoked_by'),
    revokedAt: moment('revoked_at'),
    /** Updated every few minutes at most. */
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
 * Bearer tokens that were revoked before their expiry: one token by its `jti`, or a subject's tokens by their
 * time of issue. One row for each `jti` and subject, removed when the tokens have expired.
 */
export const tokenRevocations = pgTable(
  'token_revocations',
  {
    id: uuid('id').primaryKey(),
    jti: text('jti').unique('token_revocations_jti'),
    subject: text('subject').unique('token_revocations_subject'),
    /** For a subject: tokens issued before this time, or without a time of issue, are refused. */
    issuedUntil: moment('issued_until'),
    reason: text('reason'),
    revokedBy: text('revoked_by').notNull(),
    revokedAt: moment('revoked_at').notNull(),
    /** When the longest-lived of the revoked tokens has expired. */
    endsAt: moment('ends_at').notNull(),
  },
  () => [
    check('token_revocations_about', sql`(jti IS NULL) <> (subject IS NULL)`),
    check('token_revocations_subject_time', sql`(subject IS NULL) = (issued_until IS NULL)`),
  ],
);

/**
 * Processes that write the audit log. Each numbers its entries from 1, so a removed entry leaves a gap or a
 * count that is too high. One row per process, so that processes do not wait for each other.
 */
export const auditWriters = pgTable(
  'audit_writers',
  {
    /** Chosen by the process when it starts. */
    id: uuid('id').primaryKey(),
    /** When the process wrote its first entry. */
    startedAt: moment('started_at').notNull(),
    /** The version from lib/programVersion.ts. */
    programVersion: text('program_version').notNull(),
    /** Number of entries that the process has written. */
    entries: bigint('entries', { mode: 'bigint' }).notNull(),
    /** Entries up to this number are exported and removed. */
    pruned: bigint('pruned', { mode: 'bigint' })
      .notNull()
      .default(sql`0`),
  },
  () => [
    check('audit_writers_entries', sql`entries > 0`),
    check('audit_writers_pruned', sql`pruned BETWEEN 0 AND entries`),
  ],
);

/** Old entries of one writer that an operator exported to a file (see its digest) and removed. Immutable. */
export const auditPrunings = pgTable(
  'audit_prunings',
  {
    writerId: uuid('writer_id')
      .notNull()
      .references(() => auditWriters.id),
    /** The first and the last number of the removed entries. */
    fromNumber: bigint('from_number', { mode: 'bigint' }).notNull(),
    toNumber: bigint('to_number', { mode: 'bigint' }).notNull(),
    /** SHA-256 of their lines in the file. */
    sha256: bytes('sha256').notNull(),
    prunedAt: moment('pruned_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.writerId, t.fromNumber] }),
    check('audit_prunings_numbers', sql`from_number BETWEEN 1 AND to_number`),
    check('audit_prunings_sha256', sql`octet_length(sha256) = 32`),
  ],
);

export const auditEntryKind = pgEnum('audit_entry_kind', ['MUTATION', 'READ']);

/**
 * One row for each field of each mutation, written before the field runs or with its effect; the outcome is
 * added once. A row without an outcome is under way, or its process was killed. Also one row for each field
 * with which an operator read other subjects' data, written before the answer; that row never gets an
 * outcome.
 */
export const auditEntries = pgTable(
  'audit_entries',
  {
    id: uuid('id').primaryKey(),
    kind: auditEntryKind('kind').notNull(),
    /**
     * No foreign key, which would cost a tenth of a batch of purchases: insert_audit_entries counts the
     * writer's entries in the same statement.
     */
    writerId: uuid('writer_id').notNull(),
    /** Its number among the writer's entries, from 1 without gaps. */
    number: bigint('number', { mode: 'bigint' }).notNull(),
    startedAt: moment('started_at').notNull(),
    requestId: text('request_id').notNull(),
    /** Null for a caller without a token. */
    callerSubject: text('caller_subject'),
    callerRoles: text('caller_roles').array().notNull(),
    apiKeyId: uuid('api_key_id'),
    remoteAddress: text('remote_address').notNull(),
    field: text('field').notNull(),
    /** OK, DRY_RUN, or the error's code. */
    outcome: text('outcome'),
    endedAt: moment('ended_at'),
    /** UUIDs, addresses and subjects that the input or the answer names. */
    targetIds: text('target_ids').array().notNull(),
  },
  (t) => [
    unique('audit_entries_number').on(t.writerId, t.number),
    index('audit_entries_started').on(t.startedAt, t.id),
    index('audit_entries_caller').on(t.callerSubject, t.startedAt, t.id),
    // A request's id says when the request began, but not when its entries did: mutations of a document wait
    // for each other, and clocks are set.
    index('audit_entries_request').on(t.requestId),
    // The insertion that fills the list of pending entries moves the list into the index. With the default of
    // 4 MB that takes half a second, in which a batch of postings holds its accounts.
    index('audit_entries_targets').using('gin', t.targetIds).with({ gin_pending_list_limit: 256 }),
    check('audit_entries_outcome', sql`(outcome IS NULL) = (ended_at IS NULL)`),
    check('audit_entries_read', sql`kind <> 'READ' OR outcome IS NULL`),
  ],
);

/** Use counters per caller and address, shared by all instances. */
export const rateLimits = pgTable(
  'rate_limits',
  {
    key: text('key').primaryKey(),
    points: integer('points').notNull(),
    /** When the counter restarts, by the database's clock. */
    endsAt: moment('ends_at').notNull(),
  },
  (t) => [index('rate_limits_ends_at').on(t.endsAt)],
);
