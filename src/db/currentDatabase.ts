/**
 * Which database a statement runs in.
 */
import { sql } from 'drizzle-orm';
import type { Tx } from './connection.ts';

/** Its PostgreSQL cluster and its own number: the same at every address and on every standby, and another one in a copy made by pg_restore. */
export const CURRENT_DATABASE = `(SELECT system_identifier || '/' || oid FROM pg_control_system(), pg_database
  WHERE datname = current_database())`;

/** What CURRENT_DATABASE is. */
export async function readDatabase(db: Pick<Tx, 'execute'>): Promise<string> {
  const [row] = await db.execute<{ database: string }>(sql`SELECT ${sql.raw(CURRENT_DATABASE)} AS database`);
  if (!row) throw new Error('a query of values has one row');
  return row.database;
}
