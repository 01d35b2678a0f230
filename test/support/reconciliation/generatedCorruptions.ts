/**
 * Generates corruptions from the tables' definitions and a database's rows: one change for each kind of row
 * and column, and one deletion and one forged row for each table. A new column is corrupted like the others.
 */
import { is } from 'drizzle-orm';
import { getTableConfig, PgTable, type PgColumn } from 'drizzle-orm/pg-core';
import type postgres from 'postgres';
import * as tables from '../../../src/db/tables/index.ts';

export interface GeneratedCorruption {
  /** `table.column`, `table.DELETED` or `table.FORGED`. */
  place: string;
  /** Describes the change and the kind of row. */
  name: string;
  table: string;
  /** The row as PostgreSQL's text. */
  row: string;
  /** False when no row with this key is left afterwards, which an incremental run does not notice. */
  leavesChangedRow: boolean;
  /** Set for a change only. */
  set?: { column: string; to: string };
  sql: string;
}

type TableConfig = ReturnType<typeof getTableConfig>;

export const TABLES: readonly TableConfig[] = Object.values<unknown>(tables)
  .filter((value): value is PgTable => is(value, PgTable))
  .map((table) => getTableConfig(table))
  .sort((a, b) => (a.name < b.name ? -1 : 1));

/** Expressions of the row `t` that distinguish kinds of rows, in addition to their enumerations. */
const KINDS: Readonly<Record<string, string>> = {
  attempts: `(SELECT concat_ws(' ', s.kind, s.signer, s.state) FROM submissions s WHERE s.id = t.submission_id)`,
  holder_acts: 'kind',
  idempotency_keys: 'operation',
  manual_ramp_statuses: `concat_ws(' ', CASE WHEN set_by IS NULL THEN 'closed' END, (
    SELECT concat_ws(' ', c.state, CASE WHEN EXISTS (SELECT 1 FROM off_ramp_reviews r WHERE r.off_ramp_session_id = c.id) THEN 'reviewed' END)
    FROM off_ramp_sessions c WHERE c.provider_session_id = t.session_id))`,
  off_ramp_provider_statuses: `(SELECT c.state FROM off_ramp_sessions c WHERE c.id = t.off_ramp_session_id)`,
  retirement_records: `CASE WHEN EXISTS (SELECT 1 FROM retirements r WHERE r.project_id = t.project_id AND r.record_index = t.index) THEN 'ours'
    WHEN EXISTS (SELECT 1 FROM holder_acts h WHERE h.project_id = t.project_id AND h.record_index = t.index) THEN 'a holder' ELSE 'foreign' END`,
  submissions: 'kind',
  transparency_checkpoints: 'log',
  transparency_heads: 'log',
  transparency_tiles: 'log',
};

export async function generateCorruptions(db: postgres.Sql): Promise<GeneratedCorruption[]> {
  const all = await Promise.all(TABLES.map((table) => ofTable(db, table)));
  return all.flat();
}

async function ofTable(db: postgres.Sql, table: TableConfig): Promise<GeneratedCorruption[]> {
  const kind = kindOf(table);
  const found: GeneratedCorruption[] = [];
  for (const column of table.columns) {
    // Uses the same row for each column, if that row has the kind.
    const rows = await db.unsafe<{ kind: string; row: string; value: unknown }[]>(
      `SELECT DISTINCT ON (${kind}, ${column.name} IS NULL) ${kind} AS kind, t::text AS row, to_json(t.${column.name}) AS value
       FROM ${table.name} t ORDER BY ${kind}, ${column.name} IS NULL, t::text`,
    );
    for (const { kind: name, row, value } of rows) {
      for (const { what, to, path = '' } of changesOf(table, column, value)) {
        found.push({
          place: `${table.name}.${column.name}`,
          row,
          table: table.name,
          set: { column: column.name, to },
          leavesChangedRow: !isKey(table, column),
          name: `${table.name}.${column.name}${path} of ${name || 'a row'} ${what}`,
          sql: updateOf(table.name, row, [{ column: column.name, to }]),
        });
      }
    }
  }
  const rows = await db.unsafe<{ kind: string; row: string }[]>(
    `SELECT DISTINCT ON (${kind}) ${kind} AS kind, t::text AS row FROM ${table.name} t ORDER BY ${kind}, t::text`,
  );
  for (const { kind: name, row } of rows) {
    const where = `WHERE t::text = ${quote(row)}`;
    found.push({
      place: `${table.name}.DELETED`,
      leavesChangedRow: false,
      row,
      table: table.name,
      name: `${table.name} of ${name || 'a row'} deleted`,
      sql: `DELETE FROM ${table.name} t ${where}`,
    });
    found.push({
      place: `${table.name}.FORGED`,
      leavesChangedRow: true,
      row,
      table: table.name,
      name: `${table.name} of ${name || 'a row'} forged`,
      sql: `INSERT INTO ${table.name} SELECT ${copied(table)} FROM ${table.name} t ${where}`,
    });
  }
  return found;
}

export function updateOf(
  table: string,
  row: string,
  changes: readonly { column: string; to: string }[],
): string {
  const set = changes.map(({ column, to }) => `${column} = ${to}`).join(', ');
  return `UPDATE ${table} t SET ${set} WHERE t::text = ${quote(row)}`;
}

/** Returns an expression of the row `t` with the values of its enumerations. */
function kindOf(table: TableConfig): string {
  const parts = table.columns
    .filter(({ columnType }) => columnType === 'PgEnumColumn')
    .map(({ name }) => `${name}::text`);
  const further = KINDS[table.name];
  if (further !== undefined) parts.unshift(`${further}::text`);
  return parts.length === 0 ? `''::text` : `concat_ws(' ', ${parts.join(', ')})`;
}

interface ColumnChange {
  what: string;
  to: string;
  path?: string;
}

function changesOf(table: TableConfig, column: PgColumn, value: unknown): ColumnChange[] {
  if (value === null) return [{ what: 'filled', to: filled(table, column) }];
  const changes =
    column.getSQLType() === 'jsonb'
      ? changedJson(column.name, value)
      : [{ what: 'changed', to: changed(table, column) }];
  if (!column.notNull) changes.push({ what: 'emptied', to: 'NULL' });
  return changes;
}

function changed(table: TableConfig, column: PgColumn): string {
  const { name } = column;
  const type = column.getSQLType();
  if (isKey(table, column)) return otherKey(table, column);
  if (column.enumValues !== undefined && column.enumValues.length > 0) {
    const values = column.enumValues.map(quote).join(', ');
    const cast = type === 'text' ? '' : `::${type}`;
    return `(SELECT v${cast} FROM unnest(ARRAY[${values}]) v WHERE v <> ${name}::text LIMIT 1)`;
  }
  if (type === 'uuid') return `coalesce((${otherId(table, column)}), gen_random_uuid())`;
  if (type.endsWith('[]'))
    return type === 'uuid[]' ? `${name} || gen_random_uuid()` : `${name} || 'forged'::text`;
  // Keeps the form of a code: otherwise the table's own rule would find each change.
  if (/country_code$|currency$/.test(name)) return `reverse(${name})`;
  if (type === 'text') return `${name} || 'x'`;
  if (type === 'bytea') return `set_byte(${name}, 0, 255 - get_byte(${name}, 0))`;
  if (type === 'boolean') return `NOT ${name}`;
  if (type === 'date') return `${name} - 1`;
  if (type.startsWith('timestamp')) return `${name} - interval '1 day'`;
  if (/^(bigint|integer|numeric)/.test(type)) return `${name} + 1`;
  throw new Error(`${table.name}.${name} is of type ${type}, which has no change yet`);
}

function filled(table: TableConfig, column: PgColumn): string {
  const type = column.getSQLType();
  if (column.enumValues !== undefined && column.enumValues.length > 0)
    return quote(column.enumValues[0] ?? '');
  if (type === 'uuid') return `coalesce((${otherId(table, column)}), gen_random_uuid())`;
  if (type.endsWith('[]')) return `'{}'`;
  if (type === 'text') return `'forged'`;
  if (type === 'bytea') return `'\\x00'`;
  if (type === 'date') return `'2020-01-01'`;
  if (type === 'jsonb') return `'{}'`;
  if (type.startsWith('timestamp')) return `now() - interval '1 day'`;
  if (/^(bigint|integer|numeric)/.test(type)) return '1';
  throw new Error(`${table.name}.${column.name} is of type ${type}, which has no value yet`);
}

/** Returns the id of another row, if the column references one. */
function otherId(table: TableConfig, column: PgColumn): string {
  for (const key of table.foreignKeys) {
    const { columns, foreignColumns, foreignTable } = key.reference();
    if (columns[0]?.name !== column.name) continue;
    const { name } = getTableConfig(foreignTable);
    return `SELECT o.${foreignColumns[0]?.name} FROM ${name} o WHERE o.${foreignColumns[0]?.name} IS DISTINCT FROM t.${column.name} LIMIT 1`;
  }
  return 'gen_random_uuid()';
}

/** Copies a row with one other column of its primary key, so that it is a new row. */
function copied(table: TableConfig): string {
  const different = table.columns.findLast((column) => isKey(table, column));
  return table.columns
    .map((column) => (column === different ? otherKey(table, column) : column.name))
    .join(', ');
}

function isKey(table: TableConfig, { name, primary }: PgColumn): boolean {
  return primary || table.primaryKeys.some(({ columns }) => columns.some((column) => column.name === name));
}

/** Returns a key beyond those of all rows, so that the change collides with none. */
function otherKey(table: TableConfig, column: PgColumn): string {
  const type = column.getSQLType();
  if (type === 'uuid') return 'gen_random_uuid()';
  if (type === 'text') return `${column.name} || 'x'`;
  if (type === 'boolean') return `NOT ${column.name}`;
  return `(SELECT max(${column.name}) + 1 FROM ${table.name})`;
}

function changedJson(column: string, value: unknown, path: readonly string[] = []): ColumnChange[] {
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([name, item]) => changedJson(column, item, [...path, name]));
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const other =
    path.at(-1) === '$integer'
      ? String(BigInt(text) + 1n)
      : typeof value === 'number'
        ? value + 1
        : typeof value === 'boolean'
          ? !value
          : `${text}x`;
  const place = quote(`{${path.join(',')}}`);
  return [
    {
      what: 'changed',
      to: `jsonb_set(${column}, ${place}, ${quote(JSON.stringify(other))}::jsonb)`,
      path: path
        .filter((name) => name !== '$integer')
        .map((name) => `.${name}`)
        .join(''),
    },
  ];
}

function quote(text: string): string {
  return /\\/.test(text)
    ? `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
    : `'${text.replaceAll("'", "''")}'`;
}
