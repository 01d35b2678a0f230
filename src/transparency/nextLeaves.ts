/**
 * The rows that a log has to take next: committed ones, in an order in which none can come before those that it has.
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
  /** Null where a leaf's row is known by its place. */
  rowIds: string[] | null;
  /** What the head says about its rows, after them. */
  head: Partial<Head>;
  /** Of what was committed before they were read, there may be more. */
  hasMore: boolean;
}

/** Of one transaction: some milliseconds of the head's lock, and of the database's processor. */
const LEAVES_PER_STEP = 1_024;
/** Where there are as many: fewer are a transaction and a signature for little. */
const FEWEST_LEAVES = LEAVES_PER_STEP / 4;
/**
 * Transactions that are looked at together, at first, and how many times as many where those wrote too little. All that they wrote is sorted
 * for a step: of batches of 256 purchases that is 16,384, and with thousands of transactions a log that is behind would fall back further.
 */
const TRANSACTIONS_PER_LOOK = 64n;
const WIDER = 8n;

type Batch = { hashes: Uint8Array | null; ids?: string[] | null };

const aggregated = (order: string) =>
  `string_agg(hash, ''::bytea ORDER BY ${order}) AS hashes, json_agg(id ORDER BY ${order}) AS ids`;

/** Reads, and for audit entries notes how far it has read, in the caller's transaction, which holds the head. */
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
 * By the transactions that wrote them, up to the oldest that is under way: what commits later was written by a later one, and is
 * found later.
 */
async function nextTransfers(tx: Tx, head: Head): Promise<NextLeaves> {
  const from = head.writtenIn ?? 0n;
  // Ends: each look is wider, up to the oldest transaction under way.
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

/** Also a log that has just begun: it has no record of which rows were restored. */
export async function isOfOtherDatabase(
  tx: Pick<Tx, 'execute'>,
  { database }: Pick<Head, 'database'>,
): Promise<boolean> {
  return database !== (await readDatabase(tx));
}

/**
 * In a copy of the database, whose rows were written by other transactions, the ids of all transfers are compared with those in the
 * log, once: what was committed and not yet logged when the copy was made is in none of them. From the oldest transaction that is
 * under way then, the transactions of this database go on.
 *
 * Undecided are rows of later transactions that may have been restored, as long as an earlier one is open: taken for rows of this
 * database, they would be logged twice or never. What is posted meanwhile is none of them, or with enough purchases it would never end.
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

/** Those of the one before those of the other. */
function joined(one: NextLeaves, other: NextLeaves): NextLeaves {
  return {
    hashes: Buffer.concat([one.hashes, other.hashes]),
    rowIds: [...(one.rowIds ?? []), ...(other.rowIds ?? [])],
    head: { ...one.head, ...other.head },
    hasMore: one.hasMore || other.hasMore,
  };
}
