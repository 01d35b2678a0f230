/**
 * Reads the database's clock, the only clock that decides: instances' clocks may be days apart. Due times and
 * comparisons inside statements use SQL's now(); this is for decisions in code.
 */
import { sql } from 'drizzle-orm';
import type { Db } from './connection.ts';

/** SQL for the present moment. The transaction's start would be too early after a wait for a lock. */
export const DATABASE_NOW = sql`clock_timestamp()`;

/** SQL for the transaction's start in whole milliseconds, the precision of a Date and of lists' cursors. */
export const TRANSACTION_TIME = sql`date_trunc('milliseconds', now())`;

/** The present moment, also inside a transaction that has waited for a lock (not the transaction's start). */
export async function readDatabaseTime(db: Pick<Db, 'select'>): Promise<Date> {
  const [row] = await db.select({ now: sql<string>`clock_timestamp()` }).from(sql`(SELECT 1) AS one`);
  if (row === undefined) throw new Error('the database gave no time');
  return new Date(row.now);
}
