/**
 * Many rows in one statement, for what names each of them by its id.
 */
import type { AnyColumn } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Db } from './connection.ts';
import { isOneOf } from './manyRows.ts';

/** Ids that have no row are not in the map. */
export async function findByIds<TableOrView extends { id: AnyColumn; $inferSelect: { id: string } }>(
  db: Pick<Db, 'select'>,
  source: TableOrView,
  ids: readonly string[],
): Promise<Map<string, TableOrView['$inferSelect']>> {
  const rows = (await db
    .select()
    .from(source as unknown as PgTable)
    .where(isOneOf(source.id, ids))) as TableOrView['$inferSelect'][];
  return new Map(rows.map((row) => [row.id, row]));
}
