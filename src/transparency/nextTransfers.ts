/**
 * SQL that says which transfers a log lacks, by the transactions that wrote them.
 */

/** The first transaction that the statement does not see. */
const NEXT_TRANSACTION = '(SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)';

/**
 * The transaction that wrote the row t. A row keeps the last 32 bits of its id (`xmin`), which come again after 2^32 transactions: it
 * counts as written by the newest one that has them. `age()` counts half as far, and takes what is older for what is still to come.
 */
const WRITER = `(${NEXT_TRANSACTION} - ((${NEXT_TRANSACTION} - t.xmin::text::bigint) & 4294967295))`;

/** The row t was written by that transaction or a later one. */
export function isWrittenFrom(transaction: string): string {
  return `(${WRITER} >= ${transaction})`;
}

/** The transfer t names the transaction that wrote it: it was posted here, unless it was restored by a transaction of the same number. */
export const NAMES_ITS_WRITER = `(t.written_in = ${WRITER})`;

/**
 * The transfer t is beyond the head h, and of this database. One that was restored may name a transaction of the cluster that
 * it comes from; beyond the head, which is beyond all that was restored, this is one that begins after the row was written here.
 */
export const IS_NEXT_TRANSFER = `t.written_in >= h.written_in AND (t.written_in, t.id) > (h.written_in, h.row_id)
  AND t.written_in < ${NEXT_TRANSACTION} AND ${isWrittenFrom('t.written_in')}`;
