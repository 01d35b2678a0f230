/**
 * Reads the distinct names in a column: a reader chooses one of them, in the spelling that a filter needs.
 */
import { asc, sql, type AnyColumn, type SQL } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Db } from '../../db/connection.ts';

/** Maximum names read. A platform has a few. */
const MAX_NAMES = 100;

/** Returns each name once, in alphabetical order. */
export async function readNames(db: Db, table: PgTable, column: AnyColumn, where?: SQL): Promise<string[]> {
  const rows = await db
    .selectDistinct({ name: sql<string>`${column}` })
    .from(table)
    .where(where)
    .orderBy(asc(column))
    .limit(MAX_NAMES);
  return rows.map(({ name }) => name);
}
