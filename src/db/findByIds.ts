/**
 * Finds rows by their ids, by another column or by pairs, many in one statement; locks or changes one row.
 */
import { eq, getTableName, sql, type AnyColumn } from 'drizzle-orm';
import { QueryBuilder, type PgTable, type PgUpdateSetSource } from 'drizzle-orm/pg-core';
import type { Db, Tx } from './connection.ts';
import { hotSelect } from './hotQueries.ts';
import { isOneOf, isOneOfKeys, type Pair } from './manyRows.ts';

/** A table or view. */
interface Source<Row> {
  $inferSelect: Row;
}

type SourceById<Row> = Source<Row> & { id: AnyColumn };

type FindRows<Row> = (db: Pick<Db, '_'>, values: readonly string[]) => Promise<Row[]>;

const byId = new WeakMap<object, FindRows<unknown>>();

/** Ids that have no row are not in the map. */
async function findByIds<Row extends { id: string }>(
  db: Pick<Db, '_'>,
  source: SourceById<Row>,
  ids: readonly string[],
): Promise<Map<string, Row>> {
  return new Map((await rowsById(source)(db, ids)).map((row) => [row.id, row]));
}

/** Null when no row has the id. */
export async function findById<Row>(
  db: Pick<Db, '_'>,
  source: SourceById<Row>,
  id: string,
): Promise<Row | null> {
  const [row] = await rowsById(source)(db, [id]);
  return row ?? null;
}

/** Finds a row that the caller knows to exist. */
export async function requireById<Row>(db: Pick<Db, '_'>, source: SourceById<Row>, id: string): Promise<Row> {
  const row = await findById(db, source, id);
  return required(row, source, id);
}

/** Returns the use cases' finder of one row, which takes the database from their dependencies. */
export function finderOf<Row>(source: SourceById<Row>) {
  return ({ db }: { db: Pick<Db, '_'> }, id: string): Promise<Row | null> => findById(db, source, id);
}

/** Returns the use cases' finder of many rows, for lists whose items each name one. */
export function findersOf<Row extends { id: string }>(source: SourceById<Row>) {
  return ({ db }: { db: Pick<Db, '_'> }, ids: readonly string[]): Promise<Map<string, Row>> =>
    findByIds(db, source, ids);
}

/**
 * Finds rows by pairs of values in two columns, which are a unique key.
 * @param pairOf a row's values in the two columns
 * @returns rows by the given pairs, as objects; pairs that have no row are not in the map
 */
export async function findByPairs<Row>(
  db: Pick<Db, 'select'>,
  source: Source<Row>,
  columns: readonly [AnyColumn, AnyColumn],
  pairs: readonly Pair[],
  pairOf: (row: Row) => readonly unknown[],
): Promise<Map<Pair, Row>> {
  // Several fields of an object may ask for one pair.
  const different = new Map(pairs.map((pair) => [pair.join(' '), pair]));
  const rows = db.select().from(source as unknown as PgTable);
  const found = (await rows.where(isOneOfKeys(columns, [...different.values()]))) as Row[];
  const byPair = new Map(found.map((row) => [pairOf(row).join(' '), row]));
  return new Map(
    pairs.flatMap((pair): [Pair, Row][] => {
      const row = byPair.get(pair.join(' '));
      return row === undefined ? [] : [[pair, row]];
    }),
  );
}

type TableById = PgTable & { id: AnyColumn };

/**
 * Locks a row that the caller knows to exist: until this transaction ends, no other one locks or changes it.
 */
export async function lockById<Table extends TableById>(
  tx: Pick<Tx, 'select'>,
  table: Table,
  id: string,
  strength: 'update' | 'no key update' = 'update',
): Promise<Table['$inferSelect']> {
  const source: PgTable = table;
  const [row] = await tx.select().from(source).where(eq(table.id, id)).for(strength);
  return required(row, table, id);
}

/** Changes a row that the caller knows to exist. @returns the changed row */
export async function updateById<Table extends TableById>(
  tx: Pick<Tx, 'update'>,
  table: Table,
  id: string,
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- no table has this empty type
  values: PgUpdateSetSource<Table>,
): Promise<Table['$inferSelect']> {
  const [row] = await tx.update(table).set(values).where(eq(table.id, id)).returning();
  return required(row, table, id);
}

function required<Row>(row: Row | null | undefined, { id: column }: { id: AnyColumn }, id: string): Row {
  if (row == null) throw new Error(`row ${id} of ${getTableName(column.table)} has vanished`);
  return row;
}

function rowsById<Row>(source: SourceById<Row>): FindRows<Row> {
  const find = (byId.get(source) as FindRows<Row> | undefined) ?? findBy(source, source.id);
  byId.set(source, find);
  return find;
}

/** @returns a function that finds the rows whose column has one of the values */
export function findBy<Row>(source: Source<Row>, column: AnyColumn): FindRows<Row> {
  const rows = new QueryBuilder().select().from(source as unknown as PgTable);
  const select = hotSelect(rows.where(isOneOf(column, sql.placeholder('values'))));
  return (db, values) => select(db, { values: JSON.stringify(values) }) as Promise<Row[]>;
}
