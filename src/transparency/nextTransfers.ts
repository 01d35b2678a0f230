/**
 * SQL that says which transfers a log lacks, by the transactions that wrote them.
 */

/** The first transaction that the statement does not see. */
const NEXT_TRANSACTION = '(SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)';

/**
 * The row t was written by that transaction or a later one. A row keeps the last 32 bits of its transaction's id (`xmin`), which come again
 * after 2^32 transactions: it counts as written by the newest one that has them. `age()` counts half as far, and takes
 * what is older for what is still to come.
 */
export function isWrittenFrom(transaction: string): string {
  return `(((${NEXT_TRANSACTION} - t.xmin::text::bigint) & 4294967295) <= ${NEXT_TRANSACTION} - ${transaction})`;
}

/**
 * The transfer t is beyond the head h, and of this database. One that was restored may name a transaction of the cluster that
 * it comes from; beyond the head, which is beyond all that was restored, this is one that begins after the row was written here.
 */
export const IS_NEXT_TRANSFER = `t.written_in >= h.written_in AND (t.written_in, t.id) > (h.written_in, h.row_id)
  AND t.written_in < ${NEXT_TRANSACTION} AND ${isWrittenFrom('t.written_in')}`;
