/**
 * Many rows in one statement, for what names each of them by one of its columns.
 */
import { sql, type AnyColumn } from 'drizzle-orm';
import { QueryBuilder, type PgTable } from 'drizzle-orm/pg-core';
import type { Db } from './connection.ts';
import { hotSelect } from './hotQueries.ts';
import { isOneOf } from './manyRows.ts';

/** A table or view. */
interface Source<Row> {
  $inferSelect: Row;
}

type FindRows<Row> = (db: Pick<Db, '_'>, values: readonly string[]) => Promise<Row[]>;

const byId = new WeakMap<object, FindRows<unknown>>();

/** Ids that have no row are not in the map. */
export async function findByIds<Row extends { id: string }>(
  db: Pick<Db, '_'>,
  source: Source<Row> & { id: AnyColumn },
  ids: readonly string[],
): Promise<Map<string, Row>> {
  const find = (byId.get(source) as FindRows<Row> | undefined) ?? findBy(source, source.id);
  byId.set(source, find);
  return new Map((await find(db, ids)).map((row) => [row.id, row]));
}

/** @returns finds the rows whose column has one of the values */
export function findBy<Row>(source: Source<Row>, column: AnyColumn): FindRows<Row> {
  const rows = new QueryBuilder().select().from(source as unknown as PgTable);
  const select = hotSelect(rows.where(isOneOf(column, sql.placeholder('values'))));
  return (db, values) => select(db, { values: JSON.stringify(values) }) as Promise<Row[]>;
}
