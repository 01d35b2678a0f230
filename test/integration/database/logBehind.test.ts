/**
 * A transparency log that is far behind, after a transaction that stayed open for minutes: a step reads only
 * the leaves that it takes. If it read all missing rows, the log would fall back further during purchases.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Db } from '../../../src/db/connection.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { rowsReadBy } from '../../support/database/rowsRead.ts';
import { logsOn } from '../../support/reconciliation/logsOn.ts';

const TRANSACTIONS = 400;
const TRANSFERS_EACH = 100;
/** The rows of 64 transactions, and the rest of their first and last pages. */
const FEW = 15_000;

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  const { db } = database.handle;
  await logsOn(db).catchUp();
  for (let made = 0; made < TRANSACTIONS; made++) {
    await db.transaction(async (tx) => {
      await tx.execute(sql`SET LOCAL session_replication_role = replica`);
      await tx.execute(sql`
        INSERT INTO transfers (id, project_id, kind, cause_id, debit_account_id, debit_version, debit_balance_tonnes, credit_account_id,
          credit_version, credit_balance_tonnes, amount_tonnes, created_at)
        SELECT id, id, 'purchase', id, -1, n, 0, -2, n, n, 1, now()
        FROM (SELECT gen_random_uuid() AS id, ${made * TRANSFERS_EACH}::int + number AS n
          FROM generate_series(1, ${TRANSFERS_EACH}::int) AS number) AS purchased`);
    });
  }
  await db.execute(sql`SELECT brin_summarize_new_values('transfers_written_in')`);
  await db.execute(sql`ANALYZE transfers`);
});
afterAll(() => database.drop());

const sizeOf = async (db: Pick<Db, 'execute'>) => {
  const [head] = await db.execute<{ size: number }>(
    sql`SELECT size::int AS size FROM transparency_heads WHERE log = 'transfers'`,
  );
  return head?.size;
};

it('takes its next leaves without all that it lacks, and then all of them, each once', async () => {
  const { db } = database.handle;
  // A transaction in another test's database also holds the log back.
  const isBehindAll = async () => {
    const [row] = await db.execute<{ isBehindAll: boolean }>(
      sql`SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint > max(written_in) AS "isBehindAll" FROM transfers`,
    );
    return row?.isBehindAll;
  };
  await expect.poll(isBehindAll, { timeout: 20_000 }).toBe(true);
  let steps = 0;
  const read = await rowsReadBy(database.handle, ['transfers'], (tx) =>
    logsOn(tx).build('transfers', () => steps++ > 0),
  );
  expect(await sizeOf(db)).toBe(1_024);
  expect(read).toBeLessThanOrEqual(FEW);

  await logsOn(db).catchUp();
  expect(await sizeOf(db)).toBe(TRANSACTIONS * TRANSFERS_EACH);
  const [logged] = await db.execute(sql`SELECT count(DISTINCT id)::int AS ids FROM (
    SELECT unnest(row_ids) AS id FROM transparency_tiles WHERE log = 'transfers' AND level = 0) AS leaf JOIN transfers USING (id)`);
  expect(logged).toEqual({ ids: TRANSACTIONS * TRANSFERS_EACH });
});
