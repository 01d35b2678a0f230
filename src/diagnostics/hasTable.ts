/**
 * Whether a table exists: a database that is only inspected may be empty, or of an earlier version.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';

export async function hasTable(db: Db, name: string): Promise<boolean> {
  const [row] = await db.execute<{ exists: boolean }>(
    sql`SELECT to_regclass(${name}) IS NOT NULL AS "exists"`,
  );
  return row?.exists === true;
}
