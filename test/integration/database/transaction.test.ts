/**
 * Transactions whose statements fail: which failure is reported, and that nothing is sent behind the end. How long one may last.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '../../../src/db/connection.ts';
import { databaseUnavailable } from '../../../src/db/databaseUnavailable.ts';
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
