/**
 * Platform-wide rows: which network this database belongs to, and the idempotency keys of mutations.
 */
import { sql } from 'drizzle-orm';
import { boolean, check, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';

/** One row, written at the first start: a database is never used with another network or custody signer. */
export const installation = pgTable(
  'installation',
  {
    singleton: boolean('singleton').primaryKey().default(true),
    networkName: text('network_name').notNull(),
    networkId: text('network_id').notNull(),
    custodyAddress: text('custody_address').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  () => [check('installation_singleton', sql`singleton`)],
);

/** Written in the same transaction as the effect that the key stands for; never deleted. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    callerId: text('caller_id').notNull(),
    operation: text('operation').notNull(),
    key: text('key').notNull(),
    /** SHA-256 of the canonical input: the same key with another input is an error. */
    inputHash: text('input_hash').notNull(),
    /** The project, purchase or retirement that the first use created. */
    subjectId: uuid('subject_id').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.callerId, t.operation, t.key] }),
    index('idempotency_keys_created').on(t.createdAt),
  ],
);
