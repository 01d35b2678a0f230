/**
 * Keyset pagination: a page starts where the last one ended, so no rows are counted from the start.
 */
import { and, asc, desc, getTableColumns, gt, lt, sql, type AnyColumn, type SQL } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { matching, type FilterOf, type Members, type NeedsOf } from './conditions.ts';
import type { Db } from './connection.ts';
import { MAX_COUNTED } from '../lib/pageSizes.ts';

export interface KeysetPage<Cursor> {
  after?: Cursor | undefined;
  before?: Cursor | undefined;
  limit: number;
  /** Read from the end of the list towards its start. */
  inverted: boolean;
}

/** A list ordered by a value and, among equal values, by id. */
export interface KeysetCursor {
  value: string;
  id: string;
}

/** The source of a list's pages. */
export interface PageSource<Item, Cursor> {
  list: (page: KeysetPage<Cursor>) => Promise<Item[]>;
  cursorOf: (item: Item) => Cursor;
  /** Items on all pages, MAX_COUNTED at most. Called only when the number is shown. */
  count: () => Promise<number>;
}

export interface KeysetOrder {
  column: AnyColumn;
  id: AnyColumn;
  /** The SQL type that the cursor's text is cast to. */
  type: 'timestamptz' | 'integer' | 'bigint';
  direction: 'asc' | 'desc';
}

/** The condition and order that select one page. */
export function keyset(
  order: KeysetOrder,
  page: KeysetPage<KeysetCursor>,
): { where: SQL | undefined; orderBy: SQL[] } {
  const ascending = order.direction === 'asc';
  const conditions = [
    page.after ? beyond(order, page.after, ascending) : undefined,
    page.before ? beyond(order, page.before, !ascending) : undefined,
  ];
  const by = ascending !== page.inverted ? asc : desc;
  return { where: and(...conditions), orderBy: [by(order.column), by(order.id)] };
}

function beyond(order: KeysetOrder, cursor: KeysetCursor, upwards: boolean): SQL {
  const operator = sql.raw(upwards ? '>' : '<');
  const type = sql.raw(order.type);
  return sql`(${order.column}, ${order.id}) ${operator} (${cursor.value}::${type}, ${cursor.id}::uuid)`;
}

/** Like keyset, for a list ordered by one unique column, whose cursor is the column's value. */
export function keysetOf<Value>(
  column: AnyColumn,
  page: KeysetPage<Value>,
): { where: SQL | undefined; orderBy: SQL } {
  return {
    where: and(
      page.after === undefined ? undefined : gt(column, page.after),
      page.before === undefined ? undefined : lt(column, page.before),
    ),
    orderBy: page.inverted ? desc(column) : asc(column),
  };
}

/** One page of the rows that match. */
export async function listRows<Table extends PgTable>(
  db: Pick<Db, 'select'>,
  table: Table,
  order: KeysetOrder,
  page: KeysetPage<KeysetCursor>,
  condition?: SQL,
): Promise<Table['$inferSelect'][]> {
  const { where, orderBy } = keyset(order, page);
  const source: PgTable = table;
  return db
    .select()
    .from(source)
    .where(and(where, condition))
    .orderBy(...orderBy)
    .limit(page.limit);
}

/**
 * Returns the use cases' list of a table's rows by a timestamp, newest first by default, with a filter of these
 * members.
 * @param options.where every listed row's condition
 */
export function listerOf<
  Moment extends string,
  Table extends PgTable & { $inferSelect: { id: string } & Record<Moment, Date> },
  Of extends Members,
>(
  table: Table,
  moment: Moment,
  members: Of,
  { direction = 'desc', where }: { direction?: KeysetOrder['direction']; where?: SQL } = {},
) {
  const columns: Readonly<Record<string, AnyColumn>> = getTableColumns(table);
  const [column, id] = [columns[moment], columns['id']];
  if (!column || !id) throw new Error(`a list is ordered by ${moment}, which its table lacks`);
  const order: KeysetOrder = { column, id, type: 'timestamptz', direction };
  return (
    deps: { db: Pick<Db, 'select' | 'execute'> } & NeedsOf<Of>,
    filter: FilterOf<Of>,
  ): PageSource<Table['$inferSelect'], KeysetCursor> => {
    const condition = and(where, matching(members, filter, deps));
    return {
      list: (page) => listRows(deps.db, table, order, page, condition),
      cursorOf: (row) => ({ value: row[moment].toISOString(), id: row.id }),
      count: () => countRows(deps.db, table, condition),
    };
  };
}

/** The number of rows that match, MAX_COUNTED at most. */
export function countRows(db: Pick<Db, 'execute'>, table: PgTable, where: SQL = sql`true`): Promise<number> {
  return countUpTo(db, sql`SELECT FROM ${table} WHERE ${where}`);
}

/** The number of rows that the query finds, MAX_COUNTED at most. */
export async function countUpTo(db: Pick<Db, 'execute'>, query: SQL): Promise<number> {
  const [row] = await db.execute<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM (${query} LIMIT ${MAX_COUNTED}) AS counted`,
  );
  return row?.count ?? 0;
}
