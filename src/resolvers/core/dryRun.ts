/**
 * Dry runs: a mutation's work in a transaction that is rolled back. It makes every check, including the
 * database's constraints, and changes nothing.
 */
import { sql, TransactionRollbackError } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';

/** @returns what `work` returned. @throws what `work` throws, and what the database refuses */
export async function dryRun<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const done: { result: T }[] = [];
  try {
    await db.transaction(async (tx) => {
      done.push({ result: await work(tx) });
      // Deferred constraints are checked now, because the commit that would check them never comes.
      await tx.execute(sql`SET CONSTRAINTS ALL IMMEDIATE`);
      tx.rollback();
    });
  } catch (error) {
    if (!(error instanceof TransactionRollbackError)) throw error;
  }
  const [last] = done;
  if (!last) throw new Error('a dry run was rolled back before its end');
  return last.result;
}
