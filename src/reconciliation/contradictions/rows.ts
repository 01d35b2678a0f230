/**
 * Rows that break a rule of their table, as db/tables declares it. PostgreSQL refuses such rows, unless the
 * rule was switched off or dropped.
 */
import { is } from 'drizzle-orm';
import { getTableConfig, PgDialect, PgTable } from 'drizzle-orm/pg-core';
import * as tables from '../../db/tables/index.ts';
import { CHANGING_TABLES } from '../excerpt.ts';
import { aboutRowsOf, type Contradiction } from './contradiction.ts';

const dialect = new PgDialect();

export const ROW_CONTRADICTIONS: readonly Contradiction[] = Object.values<unknown>(tables)
  .filter((value): value is PgTable => is(value, PgTable))
  .flatMap(ofTable);

function ofTable(table: PgTable): Contradiction[] {
  const { name, checks, columns, primaryKeys } = getTableConfig(table);
  if (checks.length === 0) return [];
  const rules = checks.map((rule) => ({ name: rule.name, sql: dialect.sqlToQuery(rule.value).sql }));
  const key = [...columns.filter(({ primary }) => primary), ...primaryKeys.flatMap((of) => of.columns)];
  // As in a CHECK constraint, a rule whose value is null holds.
  const broken = rules.map((rule) => `WHEN (${rule.sql}) IS FALSE THEN '${rule.name}'`).join(' ');
  const query = `SELECT format('row %s of ${name} breaks its rule %s', key, rule) AS message
      FROM (SELECT concat_ws(' ', ${key.map((column) => `"${column.name}"`).join(', ')}) AS key, CASE ${broken} END AS rule FROM ${name}) AS row
      WHERE rule IS NOT NULL`;
  const changed = CHANGING_TABLES.find((one) => one === name);
  return [{ invariant: 'I16', ...(changed ? aboutRowsOf(changed, query) : { query, incremental: 'WHOLE' }) }];
}
