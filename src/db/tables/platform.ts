/**
 * Platform-wide rows: the network that this database belongs to, and the idempotency keys of mutations.
 */
import { sql } from 'drizzle-orm';
import { bigint, boolean, check, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { moment, unixSeconds } from './columns.ts';

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

/** One row: the highest final ledger that any instance has seen. */
export const finalLedger = pgTable(
  'final_ledger',
  {
    singleton: boolean('singleton').primaryKey().default(true),
    ledger: bigint('ledger', { mode: 'bigint' }).notNull(),
    /** Null on networks that identify ledgers by number alone. */
    hash: text('hash'),
    /** Null where ledgers have a hash. */
    closedAt: unixSeconds('closed_at'),
    /** Number of accepted histories that contradict a ledger which was final before. */
    acceptances: integer('acceptances').notNull().default(0),
    seenAt: moment('seen_at').notNull(),
    /** The database's `database_history()` at that time; null where the server does not tell. */
    databaseHistory: text('database_history'),
    /**
     * When a final ledger was seen again after a time in which none was seen, or in another history of the
     * database, as after a restore; null before the first time.
     */
    resumedAt: moment('resumed_at'),
  },
  () => [check('final_ledger_singleton', sql`singleton`)],
);

/** Written in the transaction of the effect that the key stands for; never deleted. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    callerSubject: text('caller_subject').notNull(),
    operation: text('operation').notNull(),
    key: text('key').notNull(),
    /** SHA-256 of the canonical input: reusing the key with another input is an error. */
    inputHash: text('input_hash').notNull(),
    /** The row that the first use created, changed or asked for. */
    targetId: uuid('target_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.callerSubject, t.operation, t.key] })],
);
