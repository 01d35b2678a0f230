/**
 * Transactions whose statements fail: the reported failure is the first, and nothing is sent after the end.
 * The limit on their duration.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '../../../src/db/connection.ts';
import { databaseUnavailable } from '../../../src/http/graphql/databaseUnavailable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it('reports the first failure, though the failure of a statement behind it is seen earlier', async () => {
  const work = database.handle.db.transaction(async (tx) => {
    const dividing = tx.execute(sql`SELECT 1 / 0`).catch(async (error: unknown) => {
      await delay(10);
      throw error;
    });
    await Promise.all([dividing, tx.execute(sql`SELECT 1`)]);
  });
  await expect(work).rejects.toThrow('division by zero');
});

it('opens no savepoint once the transaction is over', async () => {
  const opened: string[] = [];
  let late: Promise<unknown> = Promise.resolve();
  const work = database.handle.db.transaction((tx) => {
    late = delay(50).then(() => tx.transaction(async () => opened.push('savepoint')));
    return Promise.all([tx.execute(sql`SELECT 1 / 0`), late]);
  });
  await expect(work).rejects.toThrow('SELECT 1 / 0');
  await expect(late).rejects.toThrow('The transaction is over; this statement was not sent');
  expect(opened).toEqual([]);
});

it('refuses what is sent with a savepoint that cannot be set, and commits nothing', async () => {
  const { db } = database.handle;
  await db.execute(sql`CREATE TABLE savepoint_notes (note text)`);
  const work = db.transaction(async (tx) => {
    await tx.execute(sql`SELECT 1 / 0`).catch(() => {});
    await tx
      .transaction((nested) => nested.execute(sql`INSERT INTO savepoint_notes VALUES ('behind')`))
      .catch(() => {});
  });
  await expect(work).rejects.toThrow('division by zero');
  expect(await db.execute(sql`SELECT note FROM savepoint_notes`)).toHaveLength(0);
});

it('takes back nothing of the next transaction when a savepoint fails once its own transaction is over', async () => {
  const { db, close } = openDatabase({ url: database.url, poolSize: 2, applicationName: 'late savepoint' });
  await db.execute(sql`CREATE TABLE notes_behind (note text)`);
  let fail: (error: Error) => void = () => {};
  const failing = new Promise<never>((_, reject) => (fail = reject));
  let late: Promise<unknown> = Promise.resolve();
  const over = db.transaction(async (tx) => {
    late = tx.transaction(() => failing);
    late.catch(() => {});
    await tx.execute(sql`SELECT 1`);
    throw new Error('it is over');
  });
  await expect(over).rejects.toThrow('it is over');
  // On the same connection: a pool of two lends one to transactions.
  await db.transaction((tx) =>
    tx.transaction(async (nested) => {
      await nested.execute(sql`INSERT INTO notes_behind VALUES ('kept')`);
      fail(new Error('too late'));
      await expect(late).rejects.toThrow('too late');
    }),
  );
  expect(await db.execute(sql`SELECT note FROM notes_behind`)).toHaveLength(1);
  await close();
});

it('keeps nothing that a savepoint which was taken back sends after its end', async () => {
  const { db } = database.handle;
  await db.execute(sql`CREATE TABLE notes_after (note text)`);
  let late: Promise<unknown> = Promise.resolve();
  await db.transaction(async (tx) => {
    const nested = tx.transaction((within) => {
      late = delay(50).then(() => within.execute(sql`INSERT INTO notes_after VALUES ('late')`));
      return Promise.all([within.execute(sql`SELECT 1 / 0`), late]);
    });
    await expect(nested).rejects.toThrow('SELECT 1 / 0');
    await late.catch(() => {});
  });
  await expect(late).rejects.toThrow('INSERT INTO notes_after');
  expect(await db.execute(sql`SELECT note FROM notes_after`)).toHaveLength(0);
});

it('is not said to be committed when a statement has failed that its work did not wait for', async () => {
  const { db } = database.handle;
  await db.execute(sql`CREATE TABLE notes_unawaited (note text)`);
  const work = db.transaction(async (tx) => {
    await tx.execute(sql`INSERT INTO notes_unawaited VALUES ('lost')`);
    tx.execute(sql`SELECT 1 / 0`).catch(() => {});
    // It is sent within some turns, and its answer comes later.
    for (let turns = 0; turns < 5; turns++) await Promise.resolve();
  });
  await expect(work).rejects.toThrow('The transaction was rolled back');
  expect(await db.execute(sql`SELECT note FROM notes_unawaited`)).toHaveLength(0);
});

it('is as without a database once the connections are closed, as at a stop: what went before may be committed', async () => {
  const handle = openDatabase({ url: database.url, poolSize: 2, applicationName: 'closed' });
  await handle.close();
  const failed = await handle.db.execute(sql`SELECT 1`).catch((error: unknown) => error);
  expect(databaseUnavailable(failed)).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
});

it('is ended by the server after a minute, or later where its statements may take longer', async () => {
  const { db, close } = openDatabase({ url: database.url, poolSize: 2, applicationName: 'limits' });
  const limitOf = (config?: Parameters<typeof db.transaction>[1]) =>
    db.transaction(async (tx) => (await tx.execute(sql`SHOW transaction_timeout`))[0], config);
  const inTurn = [
    await limitOf(),
    await limitOf({ statementTimeoutMs: 60_000, isolationLevel: 'repeatable read' }),
    await limitOf(),
  ];
  await close();
  expect(inTurn.map((limit) => limit?.['transaction_timeout'])).toEqual(['1min', '450s', '1min']);
});
