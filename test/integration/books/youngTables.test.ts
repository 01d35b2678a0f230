/**
 * Plans made for young tables, which a connection keeps until they are analysed, read no whole history.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase, type Db } from '../../../src/db/connection.ts';
import { findById } from '../../../src/db/findByIds.ts';
import { createLeases } from '../../../src/db/leases.ts';
import { isOneOf } from '../../../src/db/manyRows.ts';
import { purchases, submissions } from '../../../src/db/tables/index.ts';
import { appendRecords } from '../../../src/feed/appendRecords.ts';
import { expiryEffects } from '../../../src/jobs/expiryEffects.ts';
import type { LandedIntent } from '../../../src/ledger/submission/effects.ts';
import { isPending } from '../../../src/ledger/submission/worker.ts';
import {
  holdPosting,
  issuePosting,
  purchasePosting,
  settlePosting,
  type Posting,
} from '../../../src/ledger/books/postings.ts';
import { postTransfers } from '../../../src/ledger/books/postTransfers.ts';
import { createUnclaimedSearch } from '../../../src/resolvers/carbon/findUnclaimedRecord.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';
import { insertDueReceipts } from '../../support/database/receipts.ts';
import { rowsReadBy } from '../../support/database/rowsRead.ts';

const TONNES = 10_000n;
const PURCHASES = 500;
const HOLDS_IN_BATCH = 250;
const SETTLED = 100;
/** More runs than PostgreSQL needs before it may keep one plan for all parameters. */
const YOUNG_RUNS = 12;
const GROWN = 5_000;
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

const movement = (amountTonnes: bigint) => ({ id: randomUUID(), projectId, amountTonnes });
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

/** Index entries of the table that were read. */
async function readEntries(db: Db, table: string): Promise<number> {
  await db.execute(sql`SELECT pg_stat_force_next_flush()`);
  const [row] = await db.execute<{ entries: number }>(
    sql`SELECT sum(idx_tup_read)::int AS entries FROM pg_stat_user_indexes WHERE relname = ${table}`,
  );
  return row?.entries ?? Number.NaN;
}

/** Rows of the table that were read without an index. */
async function readRows(db: Db, table: string): Promise<number> {
  await db.execute(sql`SELECT pg_stat_force_next_flush()`);
  const [row] = await db.execute<{ rows: number }>(
    sql`SELECT seq_tup_read::int AS rows FROM pg_stat_user_tables WHERE relname = ${table}`,
  );
  return row?.rows ?? Number.NaN;
}

/** Runs the statement on one connection, which keeps its plans: on a young table, then once after `grow`. */
async function afterGrowth<T>(
  run: (db: Db) => Promise<T>,
  grow: (db: Db) => Promise<unknown>,
  read: (db: Db) => Promise<number>,
  { url } = database,
): Promise<{ result: T; read: number }> {
  const handle = openDatabase({ url, poolSize: 1, applicationName: 'test' });
  for (let i = 0; i < YOUNG_RUNS; i++) await run(handle.db);
  await grow(handle.db);
  const before = await read(handle.db);
  const result = await run(handle.db);
  const after = await read(handle.db);
  await handle.close();
  return { result, read: after - before };
}

it('a settlement finds its hold without reading all, whenever it was planned', async () => {
  const read: number[] = [];
  for (let batches = 1; batches <= 8; batches++) {
    const [first = '', ...others] = await holdMany(database.handle.db);
    // The connection is new, so it plans now.
    const handle = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' });
    await settle(handle.db, [first]);
    const before = await readEntries(handle.db, 'transfers');
    await settle(handle.db, others.slice(0, SETTLED));
    read.push((await readEntries(handle.db, 'transfers')) - before);
    await handle.close();
  }
  // The settled holds, and the entries that the unique indexes look at.
  expect(Math.max(...read)).toBeLessThan(3 * SETTLED);
});

it('a purchase is found by its id without reading all others, before any is analysed', async () => {
  const other = await createTestDatabase();
  const { db } = other.handle;
  const id = await insertProject(db, { quantityTonnes: TONNES });
  const of = (amountTonnes: bigint) => ({ id: randomUUID(), projectId: id, amountTonnes });
  await post(db, [issuePosting(of(TONNES))]);
  await db.execute(sql`ANALYZE transfers`);
  const bought = Array.from({ length: PURCHASES }, () => purchasePosting({ ...of(1n), buyerId }));
  await post(db, bought);
  const last = bought.at(-1)?.id ?? '';
  const read = await rowsReadBy(other.handle, ['transfers'], async (tx) =>
    expect(await findById(tx, purchases, last)).toMatchObject({ id: last, buyerId }),
  );
  await other.drop();
  expect(read).toBe(1);
});

it('a claim of what is due reads no row that is settled', async () => {
  const options = { isOpen: isPending, isMisdated: sql`false`, onError: () => undefined };
  const grow = (db: Db) => growSubmissions(db, GROWN);
  const claim = (db: Db) => createLeases(db, submissions, options).claim(10);
  const { result, read } = await afterGrowth(claim, grow, (db) => readRows(db, 'submissions'));
  expect([result, read]).toEqual([[], 0]);
});

it('a settled expiry finds its item without reading all that are pending, after nights without any', async () => {
  const { db } = database.handle;
  await insertDueReceipts(db, GROWN);
  await addItems(db, 'EXPIRED');
  await db.execute(sql`ANALYZE expiry_items`);
  const { landedTogether } = expiryEffects({ clock: { now: () => at }, log: { info: () => undefined } });
  const all = [{ intent: { targetId: randomUUID() }, landed: { txHash: '0x1', at } }] as LandedIntent[];
  const expire = (on: Db) => on.transaction(async (tx) => (await landedTogether?.(all))?.succeeded(tx, all));
  const grow = (on: Db) => addItems(on, 'PENDING');
  const { read } = await afterGrowth(expire, grow, (on) => readEntries(on, 'expiry_items'));
  expect(read).toBe(0);
});

it('new records of the feed find their retirements without reading those of the whole project', async () => {
  const records = Array.from({ length: 3 }, (_, index) => ({
    index,
    retiredBy: 'custody',
    amount: 1n,
    timestamp: 1_700_000_000n,
    beneficiary: 'Acme Ltd',
    note: '',
  }));
  const token = { projectId, tokenAddress: `C${'A'.repeat(55)}` };
  const of = { token, records, verified: new Map<number, string>() };
  // The transaction is rolled back, so the records stay new.
  const append = async (db: Db) => {
    await db
      .transaction(async (tx) => {
        await appendRecords(tx, [of], at);
        throw ROLLED_BACK;
      })
      .catch((error: unknown) => expect(error).toBe(ROLLED_BACK));
  };
  const grow = (db: Db) => growRetirements(db, GROWN);
  const { read } = await afterGrowth(append, grow, (db) => readEntries(db, 'retirements'));
  expect(read).toBeLessThan(10 * records.length);
});

it('rows are found by their ids without reading all others, whatever size the table had', async () => {
  const find = (db: Db) =>
    db
      .select({ id: submissions.id })
      .from(submissions)
      .where(isOneOf(submissions.id, [randomUUID()]));
  const other = await createTestDatabase();
  const read: number[] = [];
  for (const size of [100, 200, 400, 800]) {
    await growSubmissions(other.handle.db, size);
    const grow = (db: Db) => growSubmissions(db, size);
    read.push((await afterGrowth(find, grow, (db) => readRows(db, 'submissions'), other)).read);
  }
  await other.drop();
  expect(read).toEqual([0, 0, 0, 0]);
});

it('the search for equal burns under way reads none that are retired', async () => {
  const other = await createTestDatabase();
  const tokenAddress = `C${'B'.repeat(55)}`;
  const id = await insertProject(other.handle.db, { quantityTonnes: TONNES, state: 'OPEN', tokenAddress });
  const burn = { amount: 1n, beneficiary: 'Acme Ltd', note: '' };
  // No retirement claims this record, so it may belong to a burn under way.
  const records = [{ ...burn, index: 0, retiredBy: 'custody', timestamp: 1_700_000_000n }];
  const network = {
    custodyAddress: 'custody',
    normalizeAddress: (address: string) => address,
    retirementRecords: async () => ({ records, totals: { totalRetirements: 1 } }),
  };
  const search = (db: Db) => {
    const find = createUnclaimedSearch({ db, network } as never);
    return find({ kind: 'retire', tokenAddress, ...burn }, randomUUID());
  };
  const { result, read } = await afterGrowth(
    search,
    (db) => growRetirements(db, GROWN, id),
    async (db) => (await readEntries(db, 'retirements')) + (await readRows(db, 'retirements')),
    other,
  );
  await other.drop();
  expect(result).toMatchObject({ index: 0 });
  expect(read).toBeLessThan(10);
});

/** Adds `by` settled submissions. */
const growSubmissions = (db: Db, by: number) =>
  db.execute(sql`
    INSERT INTO submissions (id, kind, target_type, target_id, call, state, due_at, created_at, settled_at)
    SELECT gen_random_uuid(), 'retire', 'RETIREMENT', gen_random_uuid(), '{}', 'REFUSED', now(), now(), now()
    FROM generate_series(1, ${by}::integer)`);

/** Adds a run with an item of each receipt. */
const addItems = (db: Db, state: 'PENDING' | 'EXPIRED') =>
  db.execute(sql`
    WITH run AS (INSERT INTO expiry_runs (id, trigger, requested_by, started_at, due_at)
      VALUES (gen_random_uuid(), 'MANUAL', 'test', now(), now()) RETURNING id)
    INSERT INTO expiry_items (run_id, receipt_id, state, decided_at)
    SELECT run.id, receipts.id, ${state}, CASE WHEN ${state} = 'EXPIRED' THEN now() END FROM run, receipts`);

/** Adds `by` retirements of the project, each with a record. */
const growRetirements = (db: Db, by: number, of = projectId) =>
  db.execute(sql`
    INSERT INTO retirements (id, project_id, buyer_id, beneficiary, note, amount_tonnes, state, tx_hash, record_index, created_at, settled_at)
    SELECT gen_random_uuid(), ${of}, ${buyerId}, 'Acme Ltd', '', 1, 'RETIRED', '0x' || n, n, now(), now()
    FROM generate_series(1, ${by}::integer) AS n`);

const ROLLED_BACK = new Error('rolled back');
