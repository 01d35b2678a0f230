/**
 * Finds the rows that a log takes next: committed rows, in an order in which no later row precedes those in
 * the log.
 */
import { sql } from 'drizzle-orm';
import { readDatabase } from '../db/currentDatabase.ts';
import type { Tx } from '../db/connection.ts';
import type { transparencyHeads } from '../db/tables/index.ts';
import { HASH_BYTES } from './merkle.ts';
import { IS_NEXT_TRANSFER, isWrittenFrom, NAMES_ITS_WRITER } from './nextTransfers.ts';
import {
  ENTRY_HASH,
  ENDED_ENTRY_LEAF,
  hashOfLeaf,
  RELATED_TO_TRANSFER,
  RECORD_LEAF,
  TRANSFER_LEAF,
  type LogName,
} from './leaves.ts';

export type Head = typeof transparencyHeads.$inferSelect;

/** The leaves that follow a head. */
interface NextLeaves {
  /** 32 bytes each. */
  hashes: Buffer;
  /** Null if a leaf's row follows from its place. */
  rowIds: string[] | null;
  /** The changes of the head after these leaves. */
  head: Partial<Head>;
  /** Whether more rows may have been committed before these were read. */
  hasMore: boolean;
}

/** Maximum leaves in one transaction: some milliseconds of the head's lock, and of the processor. */
const LEAVES_PER_STEP = 1_024;
/** Minimum leaves of a step, if there are as many: fewer are not worth a transaction and a signature. */
const FEWEST_LEAVES = LEAVES_PER_STEP / 4;
/**
 * The number of transactions in the first look, and the factor for the next look when they wrote too little.
 * All that they wrote is sorted for a step: with batches of 256 purchases that is 16,384 transfers, and with
 * thousands of transactions a log that is behind would fall back further.
 */
const TRANSACTIONS_PER_LOOK = 64n;
const WIDER = 8n;

type Batch = { hashes: Uint8Array | null; ids?: string[] | null };

const aggregated = (order: string) =>
  `string_agg(hash, ''::bytea ORDER BY ${order}) AS hashes, json_agg(id ORDER BY ${order}) AS ids`;

/** Reads the next leaves in the caller's transaction, which holds the head; notes the audit entries read. */
export const NEXT_LEAVES: Readonly<Record<LogName, (tx: Tx, head: Head) => Promise<NextLeaves>>> = {
  retirements: nextRecords,
  transfers: async (tx, head) =>
    (await isOfOtherDatabase(tx, head)) ? missingTransfers(tx) : nextTransfers(tx, head),
  audit: async (tx) => joined(await nextEntries(tx), await nextOutcomes(tx)),
};

/** The feed's positions have no gaps, and follow the commits. */
async function nextRecords(tx: Tx, { size }: Head): Promise<NextLeaves> {
  const [batch] = await tx.execute<Batch>(sql`
    SELECT string_agg(hash, ''::bytea ORDER BY position) AS hashes FROM (
      SELECT r.position, ${sql.raw(hashOfLeaf(RECORD_LEAF))} AS hash FROM retirement_records r
      WHERE r.position > ${size} AND r.position <= ${size + LEAVES_PER_STEP}) AS fresh`);
  const hashes = Buffer.from(batch?.hashes ?? []);
  return { hashes, rowIds: null, head: {}, hasMore: isFull(hashes) };
}

/**
 * Reads transfers by the transactions that wrote them, up to the oldest one under way: a transfer that
 * commits later was written by a later transaction, and is found later.
 */
async function nextTransfers(tx: Tx, head: Head): Promise<NextLeaves> {
  const from = head.writtenIn ?? 0n;
  // The loop ends, because each look is wider, up to the oldest transaction under way.
  for (let look = TRANSACTIONS_PER_LOOK; ; look *= WIDER) {
    const [batch] = await tx.execute<
      Batch & { until: string; end: string; last: string | null; last_id: string | null }
    >(sql`
      WITH range AS MATERIALIZED (
        SELECT until, least(until, ${String(from + look)}::bigint) AS end
        FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS until) AS snapshot
      ), fresh AS MATERIALIZED (
        SELECT t.id, t.written_in, ${sql.raw(hashOfLeaf(TRANSFER_LEAF))} AS hash FROM range
        CROSS JOIN LATERAL (SELECT t.* FROM transfers t JOIN transparency_heads h ON h.log = 'transfers'
          WHERE t.written_in >= ${String(from)}::bigint AND t.written_in < range.end AND ${sql.raw(IS_NEXT_TRANSFER)}
          ORDER BY t.written_in, t.id LIMIT ${LEAVES_PER_STEP}) AS t
        ${sql.raw(RELATED_TO_TRANSFER)}
      )
      SELECT ${sql.raw(aggregated('written_in, id'))}, max(written_in)::text AS last,
        (array_agg(id ORDER BY written_in DESC, id DESC))[1] AS last_id,
        (SELECT until FROM range)::text AS until, (SELECT "end" FROM range)::text AS end FROM fresh`);
    if (!batch) throw new Error('an aggregate has one row');
    const isLast = BigInt(batch.end) >= BigInt(batch.until);
    if (!isLast && (batch.ids?.length ?? 0) < FEWEST_LEAVES) continue;
    const last = batch.last === null ? {} : { writtenIn: BigInt(batch.last), rowId: batch.last_id };
    const next = leaves(batch, last);
    return { ...next, hasMore: next.hasMore || !isLast };
  }
}

/** The oldest transaction that is under way. */
const OLDEST_OPEN = '(SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint)';
const NO_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Whether the log was written in another database. True also for a log that has just begun: it has no record
 * of which rows were restored.
 */
export async function isOfOtherDatabase(
  tx: Pick<Tx, 'execute'>,
  { database }: Pick<Head, 'database'>,
): Promise<boolean> {
  return database !== (await readDatabase(tx));
}

/**
 * In a copy of the database, whose rows were written by other transactions, the ids of all transfers are
 * compared with those in the log, once. This finds the rows that were committed and not yet logged when the
 * copy was made. From the oldest transaction under way then, the transactions of this database continue the
 * log.
 *
 * Rows of later transactions that may have been restored are undecided as long as an earlier transaction is
 * open: taken for rows of this database, they would be logged twice or never. Rows that are posted meanwhile
 * are not undecided; otherwise the comparison would never end with enough purchases.
 */
async function missingTransfers(tx: Tx): Promise<NextLeaves> {
  const [batch] = await tx.execute<Batch & { until: string; undecided: boolean }>(sql`
    WITH logged AS (
      SELECT unnest(row_ids) AS id FROM transparency_tiles WHERE log = 'transfers' AND level = 0
    ), fresh AS MATERIALIZED (
      SELECT t.id, ${sql.raw(hashOfLeaf(TRANSFER_LEAF))} AS hash
      FROM (SELECT * FROM transfers t WHERE NOT ${sql.raw(isWrittenFrom(OLDEST_OPEN))}
        AND NOT EXISTS (SELECT 1 FROM logged WHERE logged.id = t.id)
        ORDER BY t.id LIMIT ${LEAVES_PER_STEP}) AS t
      ${sql.raw(RELATED_TO_TRANSFER)}
    )
    SELECT ${sql.raw(aggregated('id'))}, pg_snapshot_xmin(pg_current_snapshot())::text AS until,
      EXISTS (SELECT 1 FROM transfers t WHERE ${sql.raw(isWrittenFrom(OLDEST_OPEN))} AND NOT ${sql.raw(NAMES_ITS_WRITER)})
        OR EXISTS (SELECT 1 FROM transfers t JOIN logged USING (id) WHERE ${sql.raw(isWrittenFrom(OLDEST_OPEN))}) AS undecided
    FROM fresh`);
  if (!batch) throw new Error('an aggregate has one row');
  const missing = leaves(batch, {});
  if (missing.hasMore || batch.undecided) return missing;
  const head = { writtenIn: BigInt(batch.until), rowId: NO_ID, database: await readDatabase(tx) };
  return { ...missing, head, hasMore: true };
}

/** Each process numbers its entries in the order of their commits. */
async function nextEntries(tx: Tx): Promise<NextLeaves> {
  const [batch] = await tx.execute<Batch>(sql`
    WITH behind AS MATERIALIZED (
      SELECT w.id, coalesce(l.number, 0) AS number
      FROM audit_writers w LEFT JOIN transparency_audit_writers l ON l.writer_id = w.id
      WHERE w.entries > coalesce(l.number, 0)
      ORDER BY w.id LIMIT ${LEAVES_PER_STEP}
    ), fresh AS MATERIALIZED (
      SELECT e.*, ${sql.raw(ENTRY_HASH)} AS hash
      FROM behind w CROSS JOIN LATERAL (
        SELECT * FROM audit_entries WHERE writer_id = w.id AND number > w.number ORDER BY number LIMIT ${LEAVES_PER_STEP}) AS e
      ORDER BY e.writer_id, e.number LIMIT ${LEAVES_PER_STEP}
    ), noted AS (
      INSERT INTO transparency_audit_writers AS w (writer_id, number)
        SELECT writer_id, max(number) FROM fresh GROUP BY writer_id
      ON CONFLICT (writer_id) DO UPDATE SET number = excluded.number
    ), open AS (
      INSERT INTO transparency_open_entries SELECT id FROM fresh WHERE outcome IS NULL AND kind = 'MUTATION'
    )
    SELECT ${sql.raw(aggregated('writer_id, number'))} FROM fresh`);
  return leaves(batch, {});
}

async function nextOutcomes(tx: Tx): Promise<NextLeaves> {
  const [batch] = await tx.execute<Batch>(sql`
    WITH fresh AS MATERIALIZED (
      SELECT e.id, e.ended_at, ${sql.raw(hashOfLeaf(ENDED_ENTRY_LEAF))} AS hash
      FROM transparency_open_entries o JOIN audit_entries e ON e.id = o.entry_id
      WHERE e.outcome IS NOT NULL ORDER BY e.ended_at, e.id LIMIT ${LEAVES_PER_STEP}
    ), closed AS (
      DELETE FROM transparency_open_entries WHERE entry_id IN (SELECT id FROM fresh)
    )
    SELECT ${sql.raw(aggregated('ended_at, id'))} FROM fresh`);
  return leaves(batch, {});
}

function leaves(batch: Batch | undefined, head: Partial<Head>): NextLeaves {
  const hashes = Buffer.from(batch?.hashes ?? []);
  const rowIds = batch?.ids ?? [];
  if (hashes.length !== rowIds.length * HASH_BYTES) throw new Error('each leaf has a row');
  return { hashes, rowIds, head, hasMore: isFull(hashes) };
}

function isFull(hashes: Buffer): boolean {
  return hashes.length >= LEAVES_PER_STEP * HASH_BYTES;
}

/** Joins the leaves of `one` before those of `other`. */
function joined(one: NextLeaves, other: NextLeaves): NextLeaves {
  return {
    hashes: Buffer.concat([one.hashes, other.hashes]),
    rowIds: [...(one.rowIds ?? []), ...(other.rowIds ?? [])],
    head: { ...one.head, ...other.head },
    hasMore: one.hasMore || other.hasMore,
  };
}
