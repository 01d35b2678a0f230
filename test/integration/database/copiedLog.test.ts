/**
 * The log of transfers in a copy of the database, whose rows were written by other transactions: missing rows
 * are found once, by comparing ids, however much is posted meanwhile.
 */
import { sql, type SQL } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';
import { logsOn } from '../../support/reconciliation/logsOn.ts';

const LOGGED = 3;
/** A limit for hangs only. */
const PATIENCE_MS = 20_000;
/** A transaction id of another cluster, which no transaction of this one has. */
const FOREIGN = -7;

let database: TestDatabase;

const logs = () => logsOn(database.handle.db);

let versions = 0;

/**
 * Inserts a transfer.
 * @param writtenIn by default, the transaction that writes it
 */
function transfer(writtenIn?: number): SQL {
  versions += 1;
  return sql`
    INSERT INTO transfers (id, project_id, kind, cause_id, debit_account_id, debit_version, debit_balance_tonnes, credit_account_id,
      credit_version, credit_balance_tonnes, amount_tonnes, created_at, written_in)
    SELECT id, id, 'purchase', id, -1, ${versions}::int, 0, -2, ${versions}::int, ${versions}::int, 1, now(),
      coalesce(${writtenIn ?? null}::bigint, pg_current_xact_id()::text::bigint)
    FROM (SELECT gen_random_uuid() AS id) AS purchased`;
}

const write = (writtenIn?: number) => changePastRules(database, transfer(writtenIn));

async function head() {
  const [found] = await database.handle.db.execute<{ size: number; isCompared: boolean }>(sql`
    SELECT size::int AS size, database <> '1/1' AS "isCompared" FROM transparency_heads WHERE log = 'transfers'`);
  return found;
}

beforeEach(async () => {
  database = await createTestDatabase();
  for (let made = 0; made < LOGGED; made++) await write();
  await logAll(logs());
  // A row from before the copy, committed and not yet logged.
  await write(FOREIGN);
  await changePastRules(
    database,
    sql`UPDATE transparency_heads SET database = '1/1' WHERE log = 'transfers'`,
  );
});
afterEach(() => database.drop());

it(
  'is compared while a transfer is posted that commits in another order than it began',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const { db } = database.handle;
    // An older transaction in another test's database delays the lacking row.
    await db.transaction(async (tx) => {
      await tx.execute(sql`SET LOCAL session_replication_role = replica`);
      await tx.execute(transfer());
      await write();
      const grown = async () => {
        await logs().catchUp();
        return head();
      };
      await expect.poll(grown, { timeout: PATIENCE_MS }).toEqual({ size: LOGGED + 1, isCompared: true });
    });
    await logAll(logs());
    expect(await head()).toEqual({ size: LOGGED + 3, isCompared: true });
  },
);

it.each([
  ['names a transaction of another cluster', FOREIGN],
  ['names a later transaction', 2 ** 31],
])('is not compared while a row is undecided that %s', async (_, writtenIn) => {
  const { db } = database.handle;
  await db.transaction(async (tx) => {
    await tx.execute(sql`SELECT pg_current_xact_id()`);
    await write(writtenIn);
    await logs().catchUp();
    expect(await head()).toHaveProperty('isCompared', false);
  });
  await logAll(logs());
  expect(await head()).toEqual({ size: LOGGED + 2, isCompared: true });
});

it('is not compared while a row is undecided that the log has, and that names the transaction that restored it', async () => {
  const { db } = database.handle;
  await db.transaction(async (tx) => {
    await tx.execute(sql`SELECT pg_current_xact_id()`);
    await changePastRules(
      database,
      sql`UPDATE transfers SET written_in = pg_current_xact_id()::text::bigint`,
    );
    await logs().catchUp();
    expect(await head()).toHaveProperty('isCompared', false);
  });
  await logAll(logs());
  expect(await head()).toEqual({ size: LOGGED + 1, isCompared: true });
});
