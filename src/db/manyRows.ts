/**
 * Statements about many rows or values. Their text is the same for any number of rows, because the rows are
 * one parameter, a JSON document. So a connection keeps the statement prepared (frequentStatements.ts), and
 * hundreds of parameters need not be numbered, typed and encoded one by one.
 */
import {
  desc,
  getTableColumns,
  getTableName,
  sql,
  type AnyColumn,
  type Placeholder,
  type SQL,
  type Table,
} from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Db } from './connection.ts';
import { renderOnce } from './hotQueries.ts';
import { getOrMake } from '../lib/getOrMake.ts';

/** Inserts the rows with the statement of `insertionOf`. */
export async function insertRows<Table extends PgTable>(
  db: Pick<Db, 'execute'>,
  table: Table,
  rows: readonly Table['$inferInsert'][],
): Promise<void> {
  if (rows.length > 0) await db.execute(insertionOf(table, rows));
}

/**
 * @param rows at least one; a column left out of one row and given in another is null
 * @param computed columns that the database computes, with the same expression for each row; the statement is
 * cached by this object, so pass the same object in every call
 */
export function insertionOf<Table extends PgTable, Computed extends string = never>(
  table: Table,
  rows: readonly Omit<Table['$inferInsert'], Computed>[],
  computed?: Readonly<Record<Computed, SQL>>,
): SQL {
  const columns = Object.entries(getTableColumns(table));
  const named = columns.filter(([key]) => rows.some((row) => key in row));
  const document = rows.map((row) => {
    const values = row as Readonly<Record<string, unknown>>;
    const cells: Record<string, unknown> = {};
    for (const [key, { name }] of named) cells[name] = toJson(values[key]);
    return cells;
  });
  return renderOf(table, named, computed)({ rows: JSON.stringify(document) });
}

type Render = (values: { rows: string }) => SQL;

/** Cached insertions by the object that is the same for each call, then by the names of the columns. */
const renders = new WeakMap<object, Map<string, Render>>();

function renderOf(
  table: PgTable,
  named: readonly (readonly [string, AnyColumn])[],
  computed: Readonly<Record<string, SQL>> | undefined,
): Render {
  const ofTable = getOrMake(renders, computed ?? table, () => new Map<string, Render>());
  const names = [getTableName(table), ...named.map(([key]) => key)].join(' ');
  return getOrMake(ofTable, names, () => renderInsertion(table, named, computed));
}

function renderInsertion(
  table: PgTable,
  named: readonly (readonly [string, AnyColumn])[],
  computed: Readonly<Record<string, SQL>> = {},
): Render {
  const made = Object.entries(getTableColumns(table)).filter(([key]) => key in computed);
  const into = [...named, ...made].map(([, { name }]) => sql.identifier(name));
  const from = [...named.map(([, { name }]) => sql.identifier(name)), ...made.map(([key]) => computed[key])];
  return renderOnce(sql`INSERT INTO ${table} (${sql.join(into, sql`, `)}) SELECT ${sql.join(from, sql`, `)}
    FROM json_populate_recordset(NULL::${table}, ${sql.placeholder('rows')}::text::json)`);
}

/**
 * Makes all changes in one statement, because a statement alone costs a connection as much as dozens of rows.
 * No change sees the effects of the others; references between their rows are checked at the end.
 * @param answer the select at the end of the statement
 */
export function inOneStatement(changes: readonly SQL[], answer = sql`SELECT`): SQL {
  const parts = changes.map((change, i) => sql`${sql.raw(`change_${i}`)} AS (${change})`);
  return sql`WITH ${sql.join(parts, sql`, `)} ${answer}`;
}

/**
 * Begins a statement that has the rows as `v`: `UPDATE … FROM v WHERE ${isGiven('r.id')}`.
 * @param columns names with their types: `id uuid, ledger bigint`
 */
export function givenRows(rows: readonly object[], columns: string): SQL {
  return sql`WITH v AS MATERIALIZED (
    SELECT * FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS v (${sql.raw(columns)}))`;
}

/**
 * The column equals the `id` of a given row. The second condition follows from the first. Without it the planner
 * would read a whole table of up to some ten thousand rows, and connections keep the plan that was made for a
 * young table until it is analysed.
 */
export function isGiven(column: string): SQL {
  return sql.raw(`(${column} = v.id AND ${column} = ANY (ARRAY(SELECT id FROM v)))`);
}

/** The column is one of the values. @param values the values, or a placeholder for their JSON */
export function isOneOf(column: AnyColumn, values: readonly string[] | Placeholder): SQL {
  return sql`${column} = ANY (ARRAY(SELECT value::${sql.raw(column.getSQLType())}
    FROM json_array_elements_text(${Array.isArray(values) ? JSON.stringify(values) : values}::text::json)))`;
}

export type Pair = readonly [string, number];

/**
 * The row has one of these keys: its values in the columns, which are a unique key. A list of alternatives
 * would take the planner longer than as many statements, and a join may read all rows with one value of a key.
 */
export function isOneOfKeys(
  columns: readonly [AnyColumn, ...AnyColumn[]],
  keys: readonly (readonly (string | number)[])[],
): SQL {
  const isKey = sql.join(columns.map(isElement), sql` AND `);
  return isFoundByEach(columns[0].table, keys, sql`${isKey} LIMIT 1`);
}

/**
 * The row is one of the latest `limit` rows of its parent, and the parent is one of those with these ids.
 * @param parent the column with the parent's id
 * @param latest the columns that order a parent's rows
 */
export function isAmongLatest(
  parent: AnyColumn,
  ids: readonly string[],
  { latest, limit, which = sql`true` }: { latest: readonly AnyColumn[]; limit: number; which?: SQL },
): SQL {
  const order = sql.join(latest.map(desc), sql`, `);
  const ofParent = sql`${isElement(parent, 0)} AND ${which} ORDER BY ${order} LIMIT ${limit}`;
  return isFoundByEach(
    parent.table,
    ids.map((id) => [id]),
    ofParent,
  );
}

/**
 * The row is found by the search for one of the tuples. Rows are identified by their place in the table, as a
 * key may have two columns. It is the same for all parts of a statement, which see one snapshot. The planner
 * then fetches the rows directly, also for a join.
 */
function isFoundByEach(table: Table, tuples: readonly (readonly unknown[])[], search: SQL): SQL {
  return sql`${table}.ctid = ANY (ARRAY(SELECT found.ctid
    FROM json_array_elements(${JSON.stringify(tuples)}::text::json) AS tuple
    CROSS JOIN LATERAL (SELECT ctid FROM ${table} WHERE ${search}) AS found))`;
}

/** The column equals this element of the tuple. */
function isElement(column: AnyColumn, at: number): SQL {
  return sql`${column} = (tuple.value ->> ${sql.raw(`${at}`)})::${sql.raw(column.getSQLType())}`;
}

/** Returns the value in a form that PostgreSQL reads as text or as JSON. */
function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  // Half a surrogate pair has no UTF-8 form and can't be stored.
  if (typeof value === 'string') return value.toWellFormed();
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  return value;
}
