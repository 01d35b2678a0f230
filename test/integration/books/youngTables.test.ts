/**
 * Plans that a connection makes while the tables are young, and keeps until they are analysed: none may read a whole history.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase, type Db } from '../../../src/db/connection.ts';
import {
  holdPosting,
  issuePosting,
  purchasePosting,
  settlePosting,
  type Posting,
} from '../../../src/ledger/books/postings.ts';
import { postTransfers } from '../../../src/ledger/books/postTransfers.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';

const TONNES = 10_000n;
const HOLDS_IN_BATCH = 250;
const SETTLED = 100;
const buyerId = 'acme';
const at = new Date('2026-01-01T00:00:00Z');

let database: TestDatabase;
let projectId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  projectId = await insertProject(database.handle.db, { quantityTonnes: TONNES });
  await post(database.handle.db, [
    issuePosting(movement(TONNES)),
    purchasePosting({ ...movement(TONNES), buyerId }),
  ]);
});
afterAll(() => database.drop());

const movement = (amount: bigint) => ({ id: randomUUID(), projectId, amount });
const post = (db: Db, postings: readonly Posting[]) =>
  db.transaction((tx) => postTransfers(tx, postings, at));
const settle = (db: Db, retirementIds: readonly string[]) =>
  post(
    db,
    retirementIds.map((retirementId) => settlePosting({ ...movement(1n), retirementId })),
  );

async function holdMany(db: Db): Promise<string[]> {
  const retirementIds = Array.from({ length: HOLDS_IN_BATCH }, () => randomUUID());
  await post(
    db,
    retirementIds.map((retirementId) => holdPosting({ ...movement(1n), retirementId, buyerId })),
  );
  return retirementIds;
}

/** Entries of indexes of transfers that were read. */
async function readEntries(db: Db): Promise<number> {
  await db.execute(sql`SELECT pg_stat_force_next_flush()`);
  const [row] = await db.execute<{ entries: number }>(
    sql`SELECT sum(idx_tup_read)::int AS entries FROM pg_stat_user_indexes WHERE relname = 'transfers'`,
  );
  return row?.entries ?? Number.NaN;
}

it('a settlement finds its hold without reading all, whenever it was planned', async () => {
  const read: number[] = [];
  for (let batches = 1; batches <= 8; batches++) {
    const [first = '', ...others] = await holdMany(database.handle.db);
    // Of one connection, which plans now.
    const handle = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' });
    await settle(handle.db, [first]);
    const before = await readEntries(handle.db);
    await settle(handle.db, others.slice(0, SETTLED));
    read.push((await readEntries(handle.db)) - before);
    await handle.close();
  }
  // Its own, and what the unique indexes look at.
  expect(Math.max(...read)).toBeLessThan(3 * SETTLED);
});
