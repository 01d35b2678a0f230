/**
 * Identifies the database that a statement runs in.
 */
import { sql } from 'drizzle-orm';
import type { Tx } from './connection.ts';

/**
 * SQL for the database's identity: its PostgreSQL cluster and its own number. It is the same at every address
 * and on every standby, and differs in a copy made by pg_restore.
 */
export const CURRENT_DATABASE = `(SELECT system_identifier || '/' || oid FROM pg_control_system(), pg_database
  WHERE datname = current_database())`;

/** Reads the value of CURRENT_DATABASE. */
export async function readDatabase(db: Pick<Tx, 'execute'>): Promise<string> {
  const [row] = await db.execute<{ database: string }>(sql`SELECT ${sql.raw(CURRENT_DATABASE)} AS database`);
  if (!row) throw new Error('a query of values has one row');
  return row.database;
}
