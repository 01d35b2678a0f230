/**
 * The books' rules are enforced by the database: writes past the program are refused too.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBookContradictions } from '../../support/reconciliation/bookFindings.ts';
import {
  holdPosting,
  issuePosting,
  purchasePosting,
  returnPosting,
  settlePosting,
  type Posting,
} from '../../../src/ledger/books/postings.ts';
import { postTransfers } from '../../../src/ledger/books/postTransfers.ts';
import { innermostMessage } from '../../../src/lib/errors.ts';
import { readProjectBalances } from '../../../src/ledger/books/readBalances.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { insertProject } from '../../support/database/projects.ts';

let database: TestDatabase;
let projectId: string;
let otherProjectId: string;
const buyerId = 'acme';
const at = new Date('2026-01-01T00:00:00Z');

const post = (...postings: Posting[]) =>
  database.handle.db.transaction((tx) => postTransfers(tx, postings, at));
const movement = (amountTonnes: bigint) => ({ id: randomUUID(), projectId, amountTonnes });

beforeAll(async () => {
  database = await createTestDatabase();
  projectId = await insertProject(database.handle.db, { quantityTonnes: 100n });
  await post(issuePosting(movement(100n)));
  otherProjectId = await insertProject(database.handle.db, { quantityTonnes: 100n });
  const other = () => ({ id: randomUUID(), projectId: otherProjectId, amountTonnes: 50n });
  await post(issuePosting({ ...other(), amountTonnes: 100n }), purchasePosting({ ...other(), buyerId }));
});
afterAll(async () => {
  expect(await findBookContradictions(database.handle.db)).toEqual([]);
  await database.drop();
});

describe('postTransfers', () => {
  it('moves credits from issuance to a retired account and back from a hold', async () => {
    const retirementId = randomUUID();
    const refusedId = randomUUID();
    const results = await post(
      purchasePosting({ ...movement(40n), buyerId }),
      holdPosting({ ...movement(15n), retirementId, buyerId }),
      holdPosting({ ...movement(5n), retirementId: refusedId, buyerId }),
      settlePosting({ ...movement(15n), retirementId }),
      returnPosting({ ...movement(5n), retirementId: refusedId, buyerId }),
    );
    expect(results).toEqual(Array.from({ length: 5 }, () => ({ ok: true })));
    const balances = await readProjectBalances(database.handle, [projectId]);
    expect(balances.get(projectId)).toEqual({
      issued: 100n,
      inventory: 60n,
      heldByBuyers: 25n,
      retiring: 0n,
      retired: 15n,
    });
  });

  it('refuses what is short, item by item, and says what is there', async () => {
    const results = await post(
      purchasePosting({ ...movement(1000n), buyerId: 'late' }),
      purchasePosting({ ...movement(1n), buyerId }),
      holdPosting({ ...movement(1n), retirementId: randomUUID(), buyerId: 'no-such-buyer' }),
    );
    expect(results).toEqual([{ ok: false, available: 60n }, { ok: true }, { ok: false, available: 0n }]);
  });

  it('posts the same step of the same thing once', async () => {
    await expect(post(issuePosting(movement(1n)))).rejects.toThrow();
  });

  it('goes on from what another transaction is posting to the same accounts', async () => {
    const { handle } = database;
    const buying = () => purchasePosting({ ...movement(1n), buyerId });
    let second: ReturnType<typeof post> | undefined;
    await handle.db.transaction(async (tx) => {
      await postTransfers(tx, [buying()], at);
      second = post(buying());
      second.catch(() => {});
      await expect.poll(() => hasLockWait(handle), { timeout: 5_000 }).toBe(true);
    });
    expect(await second).toEqual([{ ok: true }]);
  });

  it('never returns a hold that was settled, nor settles one that was returned, at the cost of another', async () => {
    const [settled, returned, other] = [randomUUID(), randomUUID(), randomUUID()];
    const returning = (retirementId: string) => returnPosting({ ...movement(2n), retirementId, buyerId });
    const settling = (retirementId: string) => settlePosting({ ...movement(2n), retirementId });
    await post(
      ...[settled, returned, other].map((retirementId) =>
        holdPosting({ ...movement(2n), retirementId, buyerId }),
      ),
    );
    await post(settling(settled), returning(returned));
    await expect(post(returning(settled))).rejects.toThrow();
    await expect(post(settling(returned))).rejects.toThrow();
    await post(returning(other));
  });
});

describe('the books, whichever program posts, refuse', () => {
  /** A project of 100 t with credits of two buyers and a hold of 10 t for one retirement. */
  async function projectWithHold() {
    const id = await insertProject(database.handle.db, { quantityTonnes: 100n });
    const of = (amountTonnes: bigint) => ({ id: randomUUID(), projectId: id, amountTonnes });
    const retirementId = randomUUID();
    await post(
      issuePosting(of(100n)),
      purchasePosting({ ...of(20n), buyerId }),
      purchasePosting({ ...of(20n), buyerId: 'bob' }),
      holdPosting({ ...of(10n), retirementId, buyerId }),
    );
    return { of, retirementId };
  }

  const refusal = (posting: Posting) =>
    post(posting).then(
      () => 'posted',
      (error: Error) => innermostMessage(error),
    );

  it('to issue credits again, or others than were verified', async () => {
    const { of } = await projectWithHold();
    const again = { ...issuePosting(of(100n)), causeId: randomUUID() };
    expect(await refusal(again)).toMatch(/does not issue the tonnes of project/);
    const id = await insertProject(database.handle.db, { quantityTonnes: 100n });
    const more = issuePosting({ id: randomUUID(), projectId: id, amountTonnes: 101n });
    expect(await refusal(more)).toMatch(/does not issue the tonnes of project/);
  });

  it("to settle a retirement without a hold, out of another's", async () => {
    const { of } = await projectWithHold();
    const settling = settlePosting({ ...of(10n), retirementId: randomUUID() });
    expect(await refusal(settling)).toMatch(/is not what was held for retirement/);
  });

  it('to settle another amount than was held', async () => {
    const { of, retirementId } = await projectWithHold();
    const other = holdPosting({ ...of(5n), retirementId: randomUUID(), buyerId: 'bob' });
    await post(other);
    for (const amount of [9n, 11n]) {
      const settling = settlePosting({ ...of(amount), retirementId });
      expect(await refusal(settling)).toMatch(/is not what was held for retirement/);
    }
    await post(settlePosting({ ...of(10n), retirementId }));
  });

  it('to settle in one project what was held in another', async () => {
    const [{ retirementId }, { of }] = [await projectWithHold(), await projectWithHold()];
    const settling = settlePosting({ ...of(10n), retirementId });
    expect(await refusal(settling)).toMatch(/is not what was held for retirement/);
  });

  it('to return what was held to another buyer', async () => {
    const { of, retirementId } = await projectWithHold();
    const toBob = returnPosting({ ...of(10n), retirementId, buyerId: 'bob' });
    expect(await refusal(toBob)).toMatch(/is not what was held for retirement/);
    await post(returnPosting({ ...of(10n), retirementId, buyerId }));
  });
});

/** The balances of a purchase of 5 t after another one. */
const AFTER = {
  debit_balance_tonnes: 'd.balance_tonnes - 10',
  credit_balance_tonnes: 'c.balance_tonnes + 10',
};

describe('the database refuses', () => {
  /** By a rule: an error in the statement itself, such as a column that is missing, has another code. */
  const refused = async (statement: string) => {
    await expect(database.handle.sql.unsafe(statement), statement).rejects.toMatchObject({
      code: expect.stringMatching(/^23/),
    });
  };

  it('changes to what was posted', async () => {
    await refused('UPDATE transfers SET amount_tonnes = amount_tonnes + 1');
    await refused('DELETE FROM transfers');
    await refused('TRUNCATE transfers');
    await refused('DELETE FROM accounts');
    await refused('TRUNCATE accounts CASCADE');
  });

  it('a balance that its transfers do not explain', async () => {
    await refused(`UPDATE accounts SET balance_tonnes = balance_tonnes + 1 WHERE kind = 'buyer'`);
    await refused(`UPDATE accounts SET version = version + 1 WHERE kind = 'buyer'`);
    await refused(`UPDATE accounts SET owner_id = 'thief' WHERE kind = 'buyer'`);
    const insert = 'INSERT INTO accounts (project_id, kind, owner_id, balance_tonnes, version)';
    await refused(`${insert} VALUES ('${projectId}', 'buyer', 'rich', 5, 0)`);
    await refused(`${insert} VALUES ('${projectId}', 'buyer', 'rich', 5, 1)`);
    await refused(`${insert} VALUES ('${projectId}', 'buyer', 'rich', 0, 1)`);
  });

  it('negative balances of any account but issuance', async () => {
    await refused(`UPDATE accounts SET balance_tonnes = -1 WHERE kind = 'inventory'`);
    await refused(`UPDATE accounts SET balance_tonnes = 1 WHERE kind = 'issuance'`);
    // The balances of this purchase follow from its amount.
    await refused(purchasePast({ amount_tonnes: 1000 }));
  });

  /** The SQL of a purchase past the program, valid except for `wrong`. */
  function purchasePast(wrong: Record<string, string | number> = {}): string {
    const values: Record<string, string | number> = {
      id: `'${randomUUID()}'::uuid`,
      project_id: `'${projectId}'::uuid`,
      kind: `'purchase'::transfer_kind`,
      cause_id: 'id',
      debit_account_id: 'd.id',
      debit_version: 'd.version + 1',
      debit_balance_tonnes: `d.balance_tonnes - ${wrong['amount_tonnes'] ?? 5}`,
      credit_account_id: 'c.id',
      credit_version: 'c.version + 1',
      credit_balance_tonnes: `c.balance_tonnes + ${wrong['amount_tonnes'] ?? 5}`,
      amount_tonnes: 5,
      created_at: 'now()',
      ...wrong,
    };
    if (values['cause_id'] === 'id') values['cause_id'] = values['id'] ?? '';
    return `INSERT INTO transfers (${Object.keys(values).join(', ')}) SELECT ${Object.values(values).join(', ')}
      FROM accounts d, accounts c WHERE d.kind = 'inventory' AND c.kind = 'buyer' AND c.owner_id = '${buyerId}'
        AND d.project_id = '${projectId}' AND c.project_id = '${projectId}'`;
  }

  it.each([
    ['that leaves out a version of the debited account', { debit_version: 'd.version + 2' }],
    ['that leaves out a version of the credited account', { credit_version: 'c.version + 2' }],
    ['at a version that was posted before', { credit_version: 'c.version' }],
    ['whose debited balance does not follow', { debit_balance_tonnes: 'd.balance_tonnes - 4' }],
    ['whose credited balance does not follow', { credit_balance_tonnes: 'c.balance_tonnes + 6' }],
    ['without one of its sides', { credit_account_id: 'NULL' }],
    ['to an account that is missing', { credit_account_id: 1_000_000 }],
    ['from an account to itself', { credit_account_id: 'd.id' }],
    ['of nothing', { amount_tonnes: 0 }],
    ['of another project than its accounts', { project_id: 'gen_random_uuid()' }],
    [
      'between accounts of other kinds than its own',
      { kind: `'retirement_hold'`, cause_id: 'gen_random_uuid()' },
    ],
    ['that is a purchase of another id', { cause_id: 'gen_random_uuid()' }],
    ['with a price without a currency', { price_per_tonne: 3 }],
    ['with a memo, which only transfers between buyers have', { memo: `'year-end'` }],
  ])('a transfer %s', (_name, wrong) => refused(purchasePast(wrong)));

  it.each(['debit', 'credit'])('a transfer whose %s account is of another project', async (side) => {
    const kind = side === 'debit' ? 'inventory' : 'buyer';
    const of = (value: string) =>
      `(SELECT ${value} FROM accounts WHERE kind = '${kind}' AND project_id = '${otherProjectId}')`;
    const balance = side === 'debit' ? 'balance_tonnes - 5' : 'balance_tonnes + 5';
    const wrong = { [`${side}_account_id`]: of('id'), [`${side}_version`]: of('version + 1') };
    await refused(purchasePast({ ...wrong, [`${side}_balance_tonnes`]: of(balance) }));
  });

  it.each([
    ['of which the second has balances as if the first had not been', {}, {}],
    ['of which the first has another balance', { debit_balance_tonnes: 'd.balance_tonnes - 4' }, AFTER],
    ['that leave out a version between them', {}, { ...AFTER, debit_version: 'd.version + 3' }],
  ])('transfers of one statement %s', async (_name, first, second) => {
    const next = purchasePast({ debit_version: 'd.version + 2', credit_version: 'c.version + 2', ...second });
    await refused(`${purchasePast(first)} UNION ALL SELECT ${next.split(' SELECT ')[1] ?? ''}`);
  });

  it('no transfer that is right: it moves the accounts', async () => {
    const before = await readProjectBalances(database.handle, [projectId]);
    await database.handle.sql.unsafe(purchasePast());
    const after = await readProjectBalances(database.handle, [projectId]);
    const inventory = (before.get(projectId)?.inventory ?? 0n) - 5n;
    const heldByBuyers = (before.get(projectId)?.heldByBuyers ?? 0n) + 5n;
    expect(after.get(projectId)).toMatchObject({ inventory, heldByBuyers });
  });

  /** Inserts an issue past the program. */
  function issuePast(id: string = randomUUID(), causeId: string = randomUUID()): string {
    return `INSERT INTO transfers (id, project_id, kind, cause_id, debit_account_id, debit_version,
        debit_balance_tonnes, credit_account_id, credit_version, credit_balance_tonnes, amount_tonnes, created_at)
      SELECT '${id}', d.project_id, 'issue', '${causeId}', d.id, d.version + 1, d.balance_tonnes - 5, c.id,
        c.version + 1, c.balance_tonnes + 5, 5, now() FROM accounts d, accounts c
      WHERE d.kind = 'issuance' AND c.kind = 'inventory' AND d.project_id = '${projectId}' AND c.project_id = '${projectId}'`;
  }

  it('an issue that names itself, as a purchase does', async () => {
    const id = randomUUID();
    await expect(database.handle.sql.unsafe(issuePast(id, id))).rejects.toMatchObject({
      constraint_name: 'transfers_own_cause',
    });
  });

  it('the second of two statements that post to one account at the same version', async () => {
    let goOn = () => {};
    const isHeld = new Promise<void>((resolve) => (goOn = resolve));
    let isPosted = () => {};
    const firstPosted = new Promise<void>((resolve) => (isPosted = resolve));
    const first = database.handle.db.transaction(async (tx) => {
      await tx.execute(sql.raw(purchasePast()));
      isPosted();
      await isHeld;
    });
    await firstPosted;
    // Credits the account that the first one debits: no unique key sees both.
    const second = refused(issuePast());
    while (!(await hasLockWait(database.handle))) await delay(20);
    goOn();
    await Promise.all([first, second]);
  });
});
