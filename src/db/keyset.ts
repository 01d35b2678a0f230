/**
 * Keyset pages: lists are read from where the last page ended, never by counting rows from the start.
 */
import { and, asc, desc, sql, type AnyColumn, type SQL } from 'drizzle-orm';

export interface KeysetPage<Cursor> {
  after?: Cursor | undefined;
  before?: Cursor | undefined;
  limit: number;
  /** Read from the list's end towards its start. */
  inverted: boolean;
}

/** A list ordered by a value and, among equals, by id. */
export interface KeysetCursor {
  value: string;
  id: string;
}

export interface KeysetOrder {
  column: AnyColumn;
  id: AnyColumn;
  /** How the cursor's text becomes the column's type. */
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
