/**
 * Rows keep only the last 32 bits of their transaction's id: the transparency log and an incremental
 * reconciliation go on after these bits repeat.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectChanges, readSnapshot } from '../../../src/reconciliation/excerpt.ts';
import { IS_NEXT_TRANSFER } from '../../../src/transparency/nextTransfers.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const ALL_BITS = 2 ** 32;
const HALF = ALL_BITS / 2;

describe('the log of transfers', () => {
  /**
   * Whether the log takes a transfer right beyond the head.
   * @param ago the number of transactions before the next one
   */
  async function isNext(ago: { written: number; named: number }): Promise<boolean | undefined> {
    const [row] = await database.handle.db.execute<{ is_next: boolean }>(sql`
      SELECT ${sql.raw(IS_NEXT_TRANSFER)} AS is_next
      FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next) AS n
      CROSS JOIN LATERAL (SELECT ((next - ${ago.written}::bigint) & 4294967295)::text::xid AS xmin,
        next - ${ago.named}::bigint AS written_in, gen_random_uuid() AS id) AS t
      CROSS JOIN LATERAL (SELECT t.written_in, '00000000-0000-0000-0000-000000000000'::uuid AS row_id) AS h`);
    return row?.is_next;
  }

  it.each([1, HALF - 1, HALF + 5, ALL_BITS - 1, ALL_BITS + 5, 3 * ALL_BITS])(
    'takes a transfer that was written %i transactions ago, also by a nested transaction',
    async (ago) => {
      expect(await isNext({ written: ago, named: ago })).toBe(true);
      expect(await isNext({ written: ago - 1, named: ago + 10 })).toBe(true);
    },
  );

  it.each([50, HALF - 1, HALF + 5, ALL_BITS - 1])(
    'leaves out one that was restored %i transactions ago, and names one of another cluster',
    async (ago) => {
      expect(await isNext({ written: ago, named: 5 })).toBe(false);
      expect(await isNext({ written: ago, named: -5 })).toBe(false);
    },
  );
});

it('an incremental reconciliation takes no row for changed that is so old that it seems to be still to come', async () => {
  const { db } = database.handle;
  const snapshot = await readSnapshot(db);
  const changed = await db.transaction(async (tx) => {
    // From here on `age()` counts within this transaction: later writes, half of all ids, seem in the future.
    await tx.execute(sql`SELECT age('3'::xid)`);
    await db.execute(sql`SELECT pg_current_xact_id()`);
    await db.execute(sql`INSERT INTO idempotency_keys
      VALUES ('acme', 'purchase', 'key', 'hash', gen_random_uuid())`);
    await collectChanges(tx, snapshot);
    return tx.execute(sql`SELECT 1 FROM changed_idempotency_keys`);
  });
  expect([...changed]).toEqual([]);
});
