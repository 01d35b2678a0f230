/**
 * Queries of hot paths. Drizzle builds the text of a query anew each time, from an object for each column,
 * and asks each object for its type: for a short query that takes longer than PostgreSQL takes to run it.
 * Here the text is built once.
 */
import { fillPlaceholders, SQL, StringChunk, type SQLWrapper } from 'drizzle-orm';
import { PgDialect, type PgColumn } from 'drizzle-orm/pg-core';
import type { Db } from './connection.ts';

/** Values by the names of the query's placeholders. */
type Values = Readonly<Record<string, unknown>>;

/** The selected columns, by their names in the result. */
type Columns = Readonly<Record<string, PgColumn>>;

interface Selecting extends SQLWrapper {
  readonly _: { readonly selectedFields: unknown; readonly result: readonly unknown[] };
}

type RowOf<Query extends Selecting> = Query['_']['result'][number];

/** Runs a query with these values, on a connection or in a transaction. Sends it before the call returns. */
type RunQuery<Row> = (on: Pick<Db, '_'>, values: Values) => Promise<Row[]>;

/**
 * @param query a select of columns, by a `QueryBuilder`; its values are `sql.placeholder(name)` or constants
 * @returns a function that runs the query, with the same rows as Drizzle's own
 */
export function hotSelect<Query extends Selecting>(query: Query): RunQuery<RowOf<Query>> {
  return hotQuery<RowOf<Query>>(query, query._.selectedFields as Columns);
}

/** @param columns the columns of the query's answer, in its order */
export function hotQuery<Row>(query: SQLWrapper, columns: Columns): RunQuery<Row> {
  const { sql: text, params } = new PgDialect().sqlToQuery(query.getSQL());
  const readRows = rowsReader<Row>(columns);
  return (on, values) =>
    on._.session
      .prepareQuery<{ execute: Row[]; all: unknown; values: unknown }>(
        { sql: text, params: fillPlaceholders(params, values) },
        undefined,
        undefined,
        true,
        readRows,
      )
      .execute();
}

function rowsReader<Row>(columns: Columns): (rows: unknown[][]) => Row[] {
  const cells = Object.entries(columns);
  return (rows) =>
    rows.map((values) => {
      const row: Record<string, unknown> = {};
      cells.forEach(([key, column], at) => {
        const value = values[at];
        row[key] = value === null ? null : column.mapFromDriverValue(value);
      });
      return row as Row;
    });
}

/** Marks the place of a parameter in an incomplete text: no PostgreSQL text contains a NUL. */
const PARAMETER = '\0';

class PartDialect extends PgDialect {
  override escapeParam(): string {
    return PARAMETER;
  }
}

/**
 * Like hotQuery, for a part of a query.
 * @returns a function that returns the part with these values; throws when a value is missing
 */
export function renderOnce(part: SQLWrapper): (values: Values) => SQL {
  const { sql: text, params } = new PartDialect().sqlToQuery(part.getSQL());
  const [first, ...rest] = text.split(PARAMETER).map((piece) => new StringChunk(piece));
  return (values) => {
    const filled = fillPlaceholders(params, values) as SQL['queryChunks'];
    return new SQL([...(first ? [first] : []), ...rest.flatMap((piece, i) => [filled[i], piece])]);
  };
}
