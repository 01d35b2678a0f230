/**
 * Dry runs: the work of a mutation in a transaction that is rolled back, so that every check is made, those of the
 * database included, and nothing is changed.
 */
import { sql, TransactionRollbackError } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';

/** @returns what `work` returned. @throws what `work` throws, and what the database refuses */
export async function rehearse<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const done: { result: T }[] = [];
  try {
    await db.transaction(async (tx) => {
      done.push({ result: await work(tx) });
      // The rules that are otherwise checked at the commit, which never comes.
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
