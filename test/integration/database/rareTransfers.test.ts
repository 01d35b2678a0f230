/**
 * A transfer is found by its cause without reading others of its kind, even if the statistics are from a time
 * with purchases only: the index of one kind then looks empty, and reading it whole looks cheaper than
 * searching another.
 */
import { randomUUID } from 'node:crypto';
import { sql, type SQL } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findById } from '../../../src/db/findByIds.ts';
import { creditTransfers } from '../../../src/db/tables/index.ts';
import { creditTransferPosting, settlePosting } from '../../../src/ledger/books/postings.ts';
import { postTransfers } from '../../../src/ledger/books/postTransfers.ts';
import { readSerialRanges } from '../../../src/ledger/books/serialRanges.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';
import { rowsReadBy } from '../../support/database/rowsRead.ts';

const PURCHASES = 10_000;
const ROWS = 2_000;
const FEW = 10;

let database: TestDatabase;
let projectId: string;
const held = randomUUID();
const settled = randomUUID();
const at = new Date();

type Side = 'inventory' | 'retiring' | 'retired' | 'giver' | 'taker';

/** Transfers of one tonne each, with the next versions of both accounts; the last one has the cause. */
const transfers = (kind: string, [debit, credit]: [Side, Side], rows: number, causeId = randomUUID()) => sql`
  INSERT INTO transfers (id, project_id, kind, cause_id, debit_account_id, debit_version, debit_balance_tonnes, credit_account_id,
    credit_version, credit_balance_tonnes, amount_tonnes, created_at)
  SELECT id, ${projectId}, ${kind}::transfer_kind,
    CASE WHEN ${kind} IN ('purchase', 'credit_transfer') THEN id WHEN n = ${rows}::int THEN ${causeId}::uuid ELSE gen_random_uuid() END,
    ${accountOf(debit)}, d.versions + n, 0, ${accountOf(credit)}, c.versions + n, c.versions + n, 1, now()
  FROM (SELECT gen_random_uuid() AS id, n FROM generate_series(1, ${rows}::int) AS n) AS made,
    (SELECT count(*) AS versions FROM transfers WHERE ${accountOf(debit)} IN (debit_account_id, credit_account_id)) AS d,
    (SELECT count(*) AS versions FROM transfers WHERE ${accountOf(credit)} IN (debit_account_id, credit_account_id)) AS c`;

const accountOf = (side: Side) => sql`(SELECT id FROM accounts WHERE project_id = ${projectId}
  AND CASE WHEN kind = 'buyer' THEN owner_id ELSE kind::text END = ${side})`;

beforeAll(async () => {
  database = await createTestDatabase();
  const { db } = database.handle;
  projectId = await insertProject(db, { quantityTonnes: 100_000n });
  const change = (statement: SQL) => changePastRules(database, statement);
  await change(sql`INSERT INTO accounts (project_id, kind, owner_id)
    SELECT ${projectId}, kind, owner FROM (VALUES ('inventory'::account_kind, ''), ('retiring', ''), ('retired', ''),
      ('buyer', 'giver'), ('buyer', 'taker')) AS account (kind, owner)`);
  await change(transfers('purchase', ['inventory', 'giver'], PURCHASES));
  await db.execute(sql`ANALYZE transfers`);
  await change(transfers('retirement_hold', ['giver', 'retiring'], ROWS, held));
  await change(transfers('retirement_settle', ['retiring', 'retired'], ROWS, settled));
  await change(transfers('credit_transfer', ['giver', 'taker'], ROWS));
  await change(sql`UPDATE accounts a SET balance_tonnes = ${ROWS}, version = (SELECT count(*) FROM transfers
    WHERE a.id IN (debit_account_id, credit_account_id))`);
});
afterAll(() => database.drop());

it('a settlement finds its hold', async () => {
  const posting = settlePosting({ id: randomUUID(), projectId, amountTonnes: 1n, retirementId: held });
  const read = await rowsReadBy(database.handle, ['transfers'], async (tx) =>
    expect(await postTransfers(tx, [posting], at)).toEqual([{ ok: true }]),
  );
  expect(read).toBeLessThanOrEqual(FEW);
});

it('a credit transfer is found by its id', async () => {
  const id = randomUUID();
  const facts = {
    id,
    projectId,
    amountTonnes: 1n,
    fromBuyerId: 'giver',
    toBuyerId: 'taker',
    memo: 'year-end',
  };
  const read = await rowsReadBy(database.handle, ['transfers'], async (tx) => {
    expect(await postTransfers(tx, [creditTransferPosting(facts)], at)).toEqual([{ ok: true }]);
    expect(await findById(tx, creditTransfers, id)).toEqual({ ...facts, createdAt: at });
  });
  expect(read).toBeLessThanOrEqual(FEW);
});

it('a retirement finds its serial numbers', async () => {
  const read = await rowsReadBy(database.handle, ['transfers'], async (tx) =>
    expect(await readSerialRanges(tx, [settled])).toEqual(new Map([[settled, expect.anything()]])),
  );
  expect(read).toBeLessThanOrEqual(FEW);
});
