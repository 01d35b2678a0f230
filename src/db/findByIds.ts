/**
 * Rows by their ids, or by another column that names them: many in one statement.
 */
import { getTableName, sql, type AnyColumn } from 'drizzle-orm';
import { QueryBuilder, type PgTable } from 'drizzle-orm/pg-core';
import type { Db } from './connection.ts';
import { hotSelect } from './hotQueries.ts';
import { isOneOf } from './manyRows.ts';

/** A table or view. */
interface Source<Row> {
  $inferSelect: Row;
}

type SourceById<Row> = Source<Row> & { id: AnyColumn };

type FindRows<Row> = (db: Pick<Db, '_'>, values: readonly string[]) => Promise<Row[]>;

const byId = new WeakMap<object, FindRows<unknown>>();

/** Ids that have no row are not in the map. */
export async function findByIds<Row extends { id: string }>(
  db: Pick<Db, '_'>,
  source: SourceById<Row>,
  ids: readonly string[],
): Promise<Map<string, Row>> {
  return new Map((await rowsById(source)(db, ids)).map((row) => [row.id, row]));
}

export async function findById<Row>(
  db: Pick<Db, '_'>,
  source: SourceById<Row>,
  id: string,
): Promise<Row | null> {
  const [row] = await rowsById(source)(db, [id]);
  return row ?? null;
}

/** One that the caller knows to exist. */
export async function requireById<Row>(db: Pick<Db, '_'>, source: SourceById<Row>, id: string): Promise<Row> {
  const row = await findById(db, source, id);
  if (row === null) throw new Error(`row ${id} of ${getTableName(source.id.table)} has vanished`);
  return row;
}

function rowsById<Row>(source: SourceById<Row>): FindRows<Row> {
  const find = (byId.get(source) as FindRows<Row> | undefined) ?? findBy(source, source.id);
  byId.set(source, find);
  return find;
}

/** @returns finds the rows whose column has one of the values */
export function findBy<Row>(source: Source<Row>, column: AnyColumn): FindRows<Row> {
  const rows = new QueryBuilder().select().from(source as unknown as PgTable);
  const select = hotSelect(rows.where(isOneOf(column, sql.placeholder('values'))));
  return (db, values) => select(db, { values: JSON.stringify(values) }) as Promise<Row[]>;
}
