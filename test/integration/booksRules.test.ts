/**
 * The books' rules are the database's own: whoever writes past the program is refused all the same.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditBooks } from '../../src/audit/auditBooks.ts';
import {
  holdPosting,
  issuePosting,
  purchasePosting,
  returnPosting,
  settlePosting,
} from '../../src/ledger/books/postings.ts';
import { postTransfers, type Posting } from '../../src/ledger/books/postTransfers.ts';
import { readPositions } from '../../src/ledger/books/readBalances.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { insertProject } from '../harness/projects.ts';

let database: TestDatabase;
let projectId: string;
const buyerId = 'acme';
const at = new Date('2026-01-01T00:00:00Z');

const post = (...postings: Posting[]) =>
  database.handle.db.transaction((tx) => postTransfers(tx, postings, at));
const movement = (amount: bigint) => ({ id: randomUUID(), projectId, amount });

beforeAll(async () => {
  database = await createTestDatabase();
  projectId = await insertProject(database.handle.db, { quantityTonnes: 100n });
  await post(issuePosting(movement(100n)));
});
afterAll(async () => {
  expect(await auditBooks(database.handle.db)).toEqual([]);
  await database.drop();
});

describe('postTransfers', () => {
  it('moves credits from issuance to a retired account and back from a hold', async () => {
    const retirementId = randomUUID();
    const refusedId = randomUUID();
    const results = await post(
      purchasePosting({ ...movement(40n), purchaseId: randomUUID(), buyerId }),
      holdPosting({ ...movement(15n), retirementId, buyerId }),
      holdPosting({ ...movement(5n), retirementId: refusedId, buyerId }),
      settlePosting({ ...movement(15n), retirementId }),
      returnPosting({ ...movement(5n), retirementId: refusedId, buyerId }),
    );
    expect(results).toEqual(Array.from({ length: 5 }, () => ({ ok: true })));
    const positions = await readPositions(database.handle.db, [projectId]);
    expect(positions.get(projectId)).toEqual({
      issued: 100n,
      inventory: 60n,
      heldByBuyers: 25n,
      retiring: 0n,
      retired: 15n,
    });
  });

  it('refuses what is short, item by item, and says what is there', async () => {
    const results = await post(
      purchasePosting({ ...movement(1000n), purchaseId: randomUUID(), buyerId: 'late' }),
      purchasePosting({ ...movement(1n), purchaseId: randomUUID(), buyerId }),
      holdPosting({ ...movement(1n), retirementId: randomUUID(), buyerId: 'nobody' }),
    );
    expect(results).toEqual([{ ok: false, available: 60n }, { ok: true }, { ok: false, available: 0n }]);
  });

  it('posts the same step of the same thing once', async () => {
    await expect(post(issuePosting(movement(1n)))).rejects.toThrow();
  });
});

describe('the database refuses', () => {
  const refused = async (statement: string) => {
    await expect(database.handle.sql.unsafe(statement), statement).rejects.toThrow();
  };

  it('changes to what was posted', async () => {
    await refused('UPDATE transfers SET amount = amount + 1');
    await refused('DELETE FROM transfers');
    await refused('UPDATE entries SET amount = 0');
    await refused('DELETE FROM entries');
    await refused('TRUNCATE entries');
    await refused('DELETE FROM accounts');
  });

  it('a balance that its entries do not explain', async () => {
    await refused(`UPDATE accounts SET balance = balance + 1 WHERE kind = 'buyer'`);
    await refused(`UPDATE accounts SET version = version + 1 WHERE kind = 'buyer'`);
    await refused(`UPDATE accounts SET owner_id = 'thief' WHERE kind = 'buyer'`);
  });

  it('negative balances of any account but issuance', async () => {
    await refused(`UPDATE accounts SET balance = -1 WHERE kind = 'inventory'`);
    await refused(`UPDATE accounts SET balance = 1 WHERE kind = 'issuance'`);
  });

  it('a transfer with one side, or with entries that do not match it', async () => {
    const accountsOf = `(SELECT id FROM accounts WHERE kind = 'inventory'), (SELECT id FROM accounts WHERE kind = 'retired')`;
    const insertTransfer = `INSERT INTO transfers
      (id, project_id, kind, reference_id, debit_account_id, credit_account_id, amount, created_at)
      SELECT gen_random_uuid(), '${projectId}', 'purchase', gen_random_uuid(), ${accountsOf}, 5, now()`;
    await refused(insertTransfer);
    await refused(`WITH t AS (${insertTransfer} RETURNING *), a AS (SELECT * FROM accounts WHERE kind = 'inventory')
      INSERT INTO entries SELECT a.id, a.version + 1, t.id, 5, a.balance, a.balance + 5 FROM t, a`);
  });
});
