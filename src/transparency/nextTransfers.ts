/**
 * SQL that says which transfers a log lacks, by the transactions that wrote them.
 */

/** The first transaction that the statement does not see. */
const NEXT_TRANSACTION = '(SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)';

/**
 * The transaction that wrote the row t. A row keeps the last 32 bits of the transaction's id (`xmin`), which
 * come again after 2^32 transactions: the newest transaction that has these bits counts as the writer.
 * `age()` counts half as far, and takes older transactions for future ones.
 */
const WRITER = `(${NEXT_TRANSACTION} - ((${NEXT_TRANSACTION} - t.xmin::text::bigint) & 4294967295))`;

/** Whether the row t was written by that transaction or a later one. */
export function isWrittenFrom(transaction: string): string {
  return `(${WRITER} >= ${transaction})`;
}

/**
 * Whether the transfer t names the transaction that wrote it: it was posted here, unless a transaction of the
 * same number restored it.
 */
export const NAMES_ITS_WRITER = `(t.written_in = ${WRITER})`;

/**
 * Whether the transfer t is beyond the head h, and of this database. A restored transfer may name a
 * transaction of the cluster that it comes from; beyond the head, which is beyond all that was restored, such
 * a transaction begins after the row was written here.
 */
export const IS_NEXT_TRANSFER = `t.written_in >= h.written_in AND (t.written_in, t.id) > (h.written_in, h.row_id)
  AND t.written_in < ${NEXT_TRANSACTION} AND ${isWrittenFrom('t.written_in')}`;
