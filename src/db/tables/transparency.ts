/**
 * The transparency logs: append-only Merkle trees (RFC 9162) over rows of other tables, whose roots are
 * signed and published. Triggers refuse to shrink a log, and to change its contents (drizzle/platform).
 */
import { sql } from 'drizzle-orm';
import { bigint, check, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, moment } from './columns.ts';
import { auditEntries, auditWriters } from './identity.ts';

/** The contents of each log: feed records, transfers in the books, and entries of the audit log. */
export const LOG_NAMES = ['retirements', 'transfers', 'audit'] as const;

const logName = () => text('log', { enum: LOG_NAMES }).notNull();
const isLogName = sql.raw(`log IN ('${LOG_NAMES.join("', '")}')`);

/** One row for each log: its head. */
export const transparencyHeads = pgTable(
  'transparency_heads',
  {
    log: logName().primaryKey(),
    /** The number of leaves. */
    size: bigint('size', { mode: 'number' }).notNull(),
    root: bytes('root').notNull(),
    /** The signed note of this head, as it is published. */
    checkpoint: text('checkpoint').notNull(),
    updatedAt: moment('updated_at').notNull(),
    /** For transfers: the transaction, and the id in it, up to which the log has them; null before any. */
    writtenIn: bigint('written_in', { mode: 'bigint' }),
    rowId: uuid('row_id'),
    /** The database that the transfers were written in, `<cluster>/<number>`. */
    database: text('database'),
  },
  () => [
    check('transparency_heads_log', isLogName),
    check('transparency_heads_size', sql`size >= 0`),
    check('transparency_heads_root', sql`octet_length(root) = 32`),
  ],
);

/**
 * The tree in tiles of height 8 (c2sp.org/tlog-tiles): 256 hashes of one level each, except for the last tile
 * of a level, which grows.
 */
export const transparencyTiles = pgTable(
  'transparency_tiles',
  {
    log: logName(),
    /** Level 0 has the hashes of leaves; each higher level, the hashes of whole tiles of the level below. */
    level: integer('level').notNull(),
    index: bigint('index', { mode: 'number' }).notNull(),
    hashes: bytes('hashes').notNull(),
    /**
     * On level 0 of transfers and audit entries: the rows behind the hashes, in order. A record's leaf
     * follows from its position.
     */
    rowIds: uuid('row_ids').array(),
  },
  (t) => [
    primaryKey({ columns: [t.log, t.level, t.index] }),
    check('transparency_tiles_log', isLogName),
    check('transparency_tiles_place', sql`level BETWEEN 0 AND 6 AND index >= 0`),
    check(
      'transparency_tiles_width',
      sql`octet_length(hashes) % 32 = 0 AND octet_length(hashes) BETWEEN 32 AND 8192`,
    ),
    check(
      'transparency_tiles_rows',
      sql`CASE WHEN level = 0 AND log <> 'retirements' THEN cardinality(row_ids) * 32 = octet_length(hashes) ELSE row_ids IS NULL END`,
    ),
  ],
);

/** Signed heads that were published: one a day, so that reconciliations compare the log with its past. */
export const transparencyCheckpoints = pgTable(
  'transparency_checkpoints',
  {
    log: logName(),
    size: bigint('size', { mode: 'number' }).notNull(),
    checkpoint: text('checkpoint').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.log, t.size] }), check('transparency_checkpoints_log', isLogName)],
);

/** The number up to which the entries of a process are in the log. */
export const transparencyAuditWriters = pgTable('transparency_audit_writers', {
  writerId: uuid('writer_id')
    .primaryKey()
    .references(() => auditWriters.id),
  number: bigint('number', { mode: 'bigint' }).notNull(),
});

/**
 * Mutations' audit entries that were logged without an outcome. The outcome becomes a leaf of its own.
 * Entries of killed processes stay until they are pruned.
 */
export const transparencyOpenEntries = pgTable('transparency_open_entries', {
  entryId: uuid('entry_id')
    .primaryKey()
    .references(() => auditEntries.id),
});
