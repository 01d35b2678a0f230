/** Statements about many rows write what Drizzle would write, with one text for any number of rows. */
import { eq, inArray, sql, type SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { inOneStatement, insertionOf, insertRows, isOneOf } from '../../../src/db/manyRows.ts';
import { events, transactions } from '../../../src/ledger/network/embedded/tables.ts';
import { readTiles } from '../../../src/transparency/tiles.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

type Row = typeof transactions.$inferInsert;

const rowOf = (hash: string): Row => ({
  hash,
  ledger: 9_007_199_254_740_993n,
  signedBytes: new Uint8Array([0, 0xff, 0x5c, 0x78]),
  result: { kind: 'retired', retirementIndex: 3 },
  refusalReason: null,
});
const refused: Row = {
  ...rowOf('refused'),
  result: null,
  refusalReason: 'OTHER',
  refusalMessage: `a "quoted" \\ 'text', {with} what 🌍 means something\n, and half a pair \ud83c`,
};

it('writes every kind of value as a row of its own statement has it', async () => {
  const { db } = database.handle;
  await insertRows(db, transactions, [rowOf('one'), refused]);
  const one = (row: Row) => ({ ...row, hash: `${row.hash}, alone` });
  for (const row of [rowOf('one'), refused]) await db.insert(transactions).values(one(row));
  const read = (hashes: string[]) =>
    db.select().from(transactions).where(inArray(transactions.hash, hashes)).orderBy(transactions.hash);
  const together = await read(['one', 'refused']);
  expect(together.map(({ ledger }) => ledger)).toEqual([9_007_199_254_740_993n, 9_007_199_254_740_993n]);
  expect(together.map(one)).toEqual(await read(['one, alone', 'refused, alone']));
});

it('lets the database make what is computed', async () => {
  const { db } = database.handle;
  const { refusalMessage: _, ...rest } = { ...refused, hash: 'computed' };
  await db.execute(insertionOf(transactions, [rest], { refusalMessage: sql`upper('made')` }));
  const [row] = await db
    .select()
    .from(transactions)
    .where(isOneOf(transactions.hash, ['computed', 'none']));
  expect(row).toMatchObject({ hash: 'computed', refusalMessage: 'MADE' });
  expect(await db.select().from(transactions).where(isOneOf(transactions.hash, []))).toEqual([]);
});

it('keeps texts apart: by their columns, and by what is computed', async () => {
  const { db } = database.handle;
  const { refusalMessage: _, result: __, ...rest } = refused;
  await insertRows(db, transactions, [{ ...rest, hash: 'given', refusalMessage: 'given' }]);
  const computed = (hash: string, refusalMessage: SQL) =>
    db.execute(insertionOf(transactions, [{ ...rest, hash }], { refusalMessage }));
  await computed('first', sql`'first'`);
  await computed('second', sql`'second'`);
  const stored = await db
    .select({ hash: transactions.hash, message: transactions.refusalMessage })
    .from(transactions)
    .where(isOneOf(transactions.hash, ['given', 'first', 'second']))
    .orderBy(transactions.hash);
  expect(stored).toEqual(['first', 'given', 'second'].map((name) => ({ hash: name, message: name })));
});

it('makes several changes in one statement: references between their rows hold, and all of them fail with one', async () => {
  const { db } = database.handle;
  const eventOf = (txHash: string) => ({
    id: `event of ${txHash}`,
    contract: 'C',
    eventType: 'retired',
    ledger: 1n,
    txHash,
    timestamp: 1n,
    data: { topics: [], value: [] } as never,
  });
  const changes = (hash: string, eventHash = hash) => [
    insertionOf(events, [eventOf(eventHash)]),
    insertionOf(transactions, [rowOf(hash)]),
  ];
  expect([...(await db.execute(inOneStatement(changes('both'), sql`SELECT 'told' AS answer`)))]).toEqual([
    { answer: 'told' },
  ]);
  expect(await db.$count(events, eq(events.txHash, 'both'))).toBe(1);
  await expect(db.execute(inOneStatement(changes('neither', 'unknown')))).rejects.toThrow();
  expect(await db.$count(transactions, eq(transactions.hash, 'neither'))).toBe(0);
});

it('has one text for any number of rows or values, so that it stays prepared', async () => {
  const texts = new Set<string>();
  const note = (query: SQL) => texts.add(new PgDialect().sqlToQuery(query).sql);
  const db = { execute: async (query: SQL) => void note(query) } as never;
  await insertRows(db, transactions, [rowOf('a')]);
  await insertRows(db, transactions, [rowOf('a'), rowOf('b'), rowOf('c')]);
  expect(texts.size).toBe(1);
  await insertRows(db, transactions, []);
  expect(texts.size).toBe(1);
  texts.clear();
  note(isOneOf(transactions.hash, ['a']));
  note(isOneOf(transactions.hash, ['a', 'b', 'c']));
  expect(texts.size).toBe(1);
  const { db: real } = database.handle;
  const sent = vi.spyOn(
    real._.session as unknown as { prepareQuery(query: { sql: string }): unknown },
    'prepareQuery',
  );
  await readTiles(real, 'audit', [{ level: 0, index: 7 }]);
  await readTiles(
    real,
    'audit',
    [0, 1, 2].map((level) => ({ level, index: 7 })),
  );
  expect(new Set(sent.mock.calls.map(([query]) => query.sql)).size).toBe(1);
  sent.mockRestore();
});
