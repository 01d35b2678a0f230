/**
 * Queries whose text is made once return Drizzle's own rows, on a connection and in a transaction.
 */
import { and, eq, inArray, ne, sql } from 'drizzle-orm';
import { integer, PgDialect, pgTable, QueryBuilder } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hotQuery, hotSelect, renderOnce } from '../../../src/db/hotQueries.ts';
import { insertRows } from '../../../src/db/manyRows.ts';
import { transactions } from '../../../src/ledger/network/embedded/tables.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await insertRows(database.handle.db, transactions, [
    rowOf('landed', { result: { kind: 'retired', retirementIndex: 3 } }),
    rowOf('refused', { refusalReason: 'OTHER', refusalMessage: 'no' }),
    rowOf('left out', { result: { kind: 'done' } }),
  ]);
});
afterAll(() => database.drop());

type Row = typeof transactions.$inferInsert;

function rowOf(hash: string, outcome: Partial<Row>): Row {
  return {
    hash,
    ledger: 9_007_199_254_740_993n,
    signedBytes: new Uint8Array([0, 0xff, 0x5c]),
    ...outcome,
  };
}

const ofHash = hotSelect(
  new QueryBuilder()
    .select()
    .from(transactions)
    // A constant, a value with a column's type, and a value without a type.
    .where(
      and(
        ne(transactions.hash, 'left out'),
        eq(transactions.ledger, sql.placeholder('ledger')),
        sql`${transactions.hash} = ${sql.placeholder('hash')}`,
      ),
    ),
);

it('gives the rows that Drizzle gives, also in a transaction', async () => {
  const { db } = database.handle;
  const values = { ledger: 9_007_199_254_740_993n };
  const own = await db
    .select()
    .from(transactions)
    .where(inArray(transactions.hash, ['landed', 'refused']))
    .orderBy(transactions.hash);
  expect(own).toHaveLength(2);
  expect([
    ...(await ofHash(db, { ...values, hash: 'landed' })),
    ...(await db.transaction((tx) => ofHash(tx, { ...values, hash: 'refused' }))),
  ]).toEqual(own);
  expect(await ofHash(db, { ...values, hash: 'left out' })).toEqual([]);
  expect(await ofHash(db, { ledger: 1n, hash: 'landed' })).toEqual([]);
});

it('names the value that is missing', () => {
  expect(() => ofHash(database.handle.db, { ledger: 1n })).toThrow('No value for placeholder "hash"');
});

it('is sent before the call returns, so that what is sent after it is run after it', async () => {
  const { db } = database.handle;
  await db.execute(sql`CREATE SEQUENCE turns`);
  const next = hotQuery<{ turn: number }>(sql`SELECT nextval('turns')::integer`, {
    turn: pgTable('none', { turn: integer() }).turn,
  });
  const turns = await db.transaction(async (tx) => {
    const first = next(tx, {});
    const second = tx.select({ turn: sql<number>`nextval('turns')::integer` }).from(sql`(SELECT) AS one`);
    return (await Promise.all([first, second.execute(), next(tx, {})])).map(([row]) => row?.turn);
  });
  expect(turns).toEqual([1, 2, 3]);
});

it('renders a part of a query with its values where they belong', async () => {
  const { db } = database.handle;
  const pair = renderOnce(
    sql`${sql.placeholder('a')}::text || ${'-'}::text || ${sql.placeholder('b')}::text`,
  );
  const query = sql`SELECT ${'0'}::text AS before, ${pair({ b: '2', a: '1' })} AS pair, ${pair({ a: null, b: '4' })} AS none,
    ${'5'}::text AS after`;
  expect(new PgDialect().sqlToQuery(query).params).toEqual(['0', '1', '-', '2', null, '-', '4', '5']);
  expect([...(await db.execute(query))]).toEqual([{ before: '0', pair: '1-2', none: null, after: '5' }]);
});
