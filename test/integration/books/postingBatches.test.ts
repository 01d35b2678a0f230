/**
 * Batches of postings (post_transfers): the outcome of each posting, and batches that share accounts or keys.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  creditTransferPosting,
  issuePosting,
  purchasePosting,
  type Posting,
} from '../../../src/ledger/books/postings.ts';
import { postStatement, type EncodablePosting } from '../../../src/ledger/books/postingCodec.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { countLockWaits } from '../../support/database/lockWaits.ts';
import { insertProject } from '../../support/database/projects.ts';
import { findBookContradictions } from '../../support/reconciliation/bookFindings.ts';

let database: TestDatabase;
let projectId: string;
const at = new Date('2026-01-01T00:00:00Z');
const SENDERS = ['s0', 's1', 's2'];

beforeAll(async () => {
  database = await createTestDatabase();
  projectId = await insertProject(database.handle.db, { quantityTonnes: 1000n });
  const issued = issuePosting({ id: randomUUID(), projectId, amountTonnes: 1000n });
  const bought = SENDERS.map((buyerId) =>
    purchasePosting({ id: randomUUID(), projectId, amountTonnes: 50n, buyerId }),
  );
  await post([issued, ...bought].map((posting) => ({ posting })));
  await database.handle
    .sql`INSERT INTO project_prices (id, project_id, number, price_per_tonne, price_currency, set_by, created_at)
    VALUES (gen_random_uuid(), ${projectId}, 1, 10, 'EUR', 'developer', now())`;
});
afterAll(async () => {
  expect(await findBookContradictions(database.handle.db)).toEqual([]);
  await database.drop();
});

const post = (items: readonly EncodablePosting[], writerId: string | null = null) =>
  database.handle.db.execute(postStatement(items, at, writerId));
const outcomes = async (items: readonly EncodablePosting[], writerId: string | null = null) =>
  (await post(items, writerId)).map(({ outcome }) => String(outcome));

const send = (fromBuyerId: string, toBuyerId: string): EncodablePosting & { posting: Posting } => ({
  posting: creditTransferPosting({
    id: randomUUID(),
    projectId,
    amountTonnes: 1n,
    memo: null,
    fromBuyerId,
    toBuyerId,
  }),
});
const keyed = (item: EncodablePosting, key: string, other: object = {}): EncodablePosting => ({
  ...item,
  key: { callerSubject: 'acme', operation: 'transferCredits', key, inputHash: 'hash', ...other },
});

/** Posts in a transaction that ends as asked. */
async function hold(items: readonly EncodablePosting[]) {
  const undo = new Error('undone');
  let end: (how: 'COMMIT' | 'ROLLBACK') => void = () => {};
  const ended = new Promise<'COMMIT' | 'ROLLBACK'>((resolve) => (end = resolve));
  let isPosted = () => {};
  const posted = new Promise<void>((resolve) => (isPosted = resolve));
  const done = database.handle.db
    .transaction(async (tx) => {
      await tx.execute(postStatement(items, at, null));
      isPosted();
      if ((await ended) === 'ROLLBACK') throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  await Promise.race([posted, done]);
  return async (how: 'COMMIT' | 'ROLLBACK') => {
    end(how);
    await done;
  };
}

/** @returns what a batch is answered, once so many batches wait for locks */
async function waiting(items: readonly EncodablePosting[], waits: number) {
  const answer = outcomes(items).then(
    (said) => said.join(' '),
    (error: { cause?: { code?: string } }) => `refused as ${error.cause?.code}`,
  );
  await expect.poll(() => countLockWaits(database.handle)).toBe(waits);
  return { answer };
}

describe('a batch', () => {
  it('writes of refused postings no account, no key and no entry, and of the others all', async () => {
    const [posted, unknown, short] = [send('s0', 'new'), send('s0', 'unknown'), send('none', 'short')];
    const { projectId: _, ...ofToken } = unknown.posting as Posting & { projectId: string };
    const entry = (field: string) => ({
      id: randomUUID(),
      kind: 'MUTATION' as const,
      startedAt: at,
      requestId: 'test',
      field,
      callerRoles: [],
      remoteAddress: '192.0.2.1',
      targetIds: [],
    });
    const items = [
      { ...keyed({ posting: { ...ofToken, tokenAddress: 'no-token' } }, 'unknown'), entry: entry('unknown') },
      { ...keyed(short, 'short'), entry: entry('short') },
      { ...keyed(posted, 'new'), entry: entry('new') },
    ];
    expect(await outcomes(items, randomUUID())).toEqual(['NO_PROJECT', 'SHORT', 'POSTED']);
    const written = await database.handle
      .sql`SELECT owner_id AS name FROM accounts WHERE owner_id IN ('new', 'unknown', 'short', 'none')
      UNION ALL SELECT key FROM idempotency_keys UNION ALL SELECT field FROM audit_entries`;
    expect(written.map(({ name }) => String(name))).toEqual(['new', 'new', 'new']);
  });

  it('takes a key again that another caller used, or the same for another operation', async () => {
    const [first, ofOther, again] = [send('s0', 's1'), send('s0', 's1'), send('s0', 's1')];
    expect(await outcomes([keyed(first, 'shared')])).toEqual(['POSTED']);
    const others = [
      keyed(ofOther, 'shared', { callerSubject: 'other' }),
      keyed(send('s0', 's1'), 'shared', { operation: 'other' }),
      keyed(again, 'shared'),
    ];
    expect(await outcomes(others)).toEqual(['POSTED', 'POSTED', 'REPLAYED']);
  });

  it('has the price in force for what is bought alone', async () => {
    const buying = purchasePosting({ id: randomUUID(), projectId, amountTonnes: 1n, buyerId: 's0' });
    const rows = await post([{ posting: buying }, send('s0', 's1')]);
    expect(rows.map((row) => [row['outcome'], row['price_currency']])).toEqual([
      ['POSTED', 'EUR'],
      ['POSTED', null],
    ]);
  });

  it('issues into an inventory that is open', async () => {
    const { db, sql } = database.handle;
    const id = await insertProject(db, { quantityTonnes: 5n });
    await sql`INSERT INTO accounts (project_id, kind, owner_id) VALUES (${id}, 'inventory', '')`;
    const issued = issuePosting({ id: randomUUID(), projectId: id, amountTonnes: 5n });
    expect(await outcomes([{ posting: issued }])).toEqual(['POSTED']);
  });

  it('goes on from what others posted to an account that was opened while it waited for another', async () => {
    const end = await hold([send('s1', 's0')]);
    const { answer } = await waiting([send('s1', 'opened')], 1);
    await post([send('s2', 'opened')]);
    const endLater = await hold([send('s2', 'opened')]);
    await end('COMMIT');
    // It waits for the account now.
    await expect.poll(() => countLockWaits(database.handle)).toBe(1);
    await endLater('COMMIT');
    expect(await answer).toBe('POSTED');
  });
});

describe('batches that name in another order', () => {
  /** The first holds `c`; the second needs `b`, `c` and `a`; the third needs `a` and `b`. */
  async function threeBatches(itemOf: (sender: string, name: string) => EncodablePosting) {
    const batch = (sender: string, ...names: string[]) => names.map((name) => itemOf(sender, name));
    const end = await hold(batch('s0', 'c'));
    const second = await waiting(batch('s2', 'b', 'c', 'a'), 1);
    const third = await waiting(batch('s1', 'a', 'b'), 2);
    await end('ROLLBACK');
    return [await second.answer, await third.answer];
  }

  it('the same new accounts wait for each other, and do not deadlock', async () => {
    expect(await threeBatches(send)).toEqual(['POSTED POSTED POSTED', 'POSTED POSTED']);
  });

  it('the same open accounts wait for each other, and do not deadlock', async () => {
    const itemOf = (sender: string, name: string) => send(sender, `open ${name}`);
    for (const name of ['a', 'b', 'c']) await post([itemOf('s0', name)]);
    expect(await threeBatches(itemOf)).toEqual(['POSTED POSTED POSTED', 'POSTED POSTED']);
  });

  it('the same keys wait for each other, and do not deadlock: a used one is refused', async () => {
    const itemOf = (sender: string, name: string) => keyed(send(sender, `of ${sender}`), `key ${name}`);
    for (const sender of SENDERS) await post([send(sender, `of ${sender}`)]);
    expect(await threeBatches(itemOf)).toEqual(['POSTED POSTED POSTED', 'refused as 23505']);
  });
});
