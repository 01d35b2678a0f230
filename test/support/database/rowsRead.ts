/**
 * Counts the rows that statements read, by the counters of their transaction.
 */
import { sql } from 'drizzle-orm';
import type { DatabaseHandle, Db, Tx } from '../../../src/db/connection.ts';

/** @param work runs in a transaction; queries that need a database receive the transaction instead */
export async function rowsReadBy(
  { db }: Pick<DatabaseHandle, 'db'>,
  tables: readonly string[],
  work: (tx: Tx & Db) => Promise<unknown>,
): Promise<number> {
  return db.transaction(async (tx) => {
    // Counted since the session's last report, which may be before this transaction.
    const readSoFar = async () => {
      const [read] = await tx.execute<{ rows: string }>(sql`
        SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) AS rows
        FROM pg_stat_xact_user_tables WHERE relname IN ${[...tables]}`);
      return Number(read?.rows);
    };
    const before = await readSoFar();
    await work(tx);
    return (await readSoFar()) - before;
  });
}
