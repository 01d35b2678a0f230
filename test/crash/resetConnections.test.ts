/**
 * Single statements over connections that are ended or reset during them: the statement under way fails, and
 * the next statement is answered, even an immediate one.
 */
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDatabase } from '../../src/db/connection.ts';
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts';
import { startDatabaseProxy, type DatabaseProxy } from '../../devnet/databaseProxy.ts';

let database: TestDatabase;
let proxy: DatabaseProxy;

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
});
afterEach(async () => {
  await proxy.close();
  await database.drop();
});

it.each(['cut', 'reset'] as const)('answers again after connections were %s', async (how) => {
  const handle = openDatabase({ url: proxy.url, poolSize: 2, applicationName: 'reset' });
  const answer = async (value: number) => {
    const [row] = await handle.db.execute<{ i: number }>(sql`SELECT ${value}::int AS i`);
    return row?.i;
  };
  await answer(0);
  setTimeout(() => proxy.strike(how), 100);
  // Asked in the very moment in which the connection is known to have failed.
  const atOnce = handle.db.execute(sql`SELECT pg_sleep(3)`).then(
    () => 'not cut',
    () => answer(42),
  );
  expect(await atOnce).toBe(42);
  expect([await answer(1), await answer(2), await answer(3)]).toEqual([1, 2, 3]);
  await handle.close();
});
