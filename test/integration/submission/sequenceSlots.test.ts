/**
 * Slots: two submissions never share one, an account never has more open than its network allows, and
 * returned slots are reused first.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { openDatabase, type Tx } from '../../../src/db/connection.ts';
import { attempts, signingAccounts, submissions } from '../../../src/db/tables/index.ts';
import type { NextSequences, SigningOrder, SequenceSlot } from '../../../src/ledger/network/port.ts';
import { decideAttempt, markDead, readCauses } from '../../../src/ledger/submission/attempts.ts';
import { insertAttempt, replaceAttempt } from '../../../src/ledger/submission/signAttempt.ts';
import { SequenceAhead, SequenceBehind } from '../../../src/ledger/submission/sequenceMismatch.ts';
import { giveBackSlot, readSigningState, takeSlots } from '../../../src/ledger/submission/sequenceSlots.ts';
import { readHalts } from '../../../src/ledger/submission/halts.ts';
import { createStepStore } from '../../../src/ledger/submission/stepStore.ts';
import type { SubmissionDependencies } from '../../../src/ledger/submission/submission.ts';
import { silentLog } from '../../../devnet/platform.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { rowsReadBy } from '../../support/database/rowsRead.ts';

let database: TestDatabase;
let accounts: string[];

// Each test has its own database, because the order of the accounts matters.
beforeEach(async () => {
  database = await createTestDatabase();
  accounts = Array.from({ length: 5 }, () => `G${randomUUID()}`);
});
afterEach(() => database.drop());

const orderOf = (count: number, maxOpenPerAccount: number): SigningOrder => ({
  accounts: accounts.slice(0, count),
  maxOpenPerAccount,
});
const startingAt = (sequence: bigint): NextSequences =>
  new Map(accounts.map((address) => [address, sequence]));

/** Signs as the product does in its transaction: a submission takes a slot and stores an attempt in it. */
function sign(order: SigningOrder, next: NextSequences): Promise<SequenceSlot | null> {
  return database.handle.db.transaction(async (tx) => {
    const [slot = null] = await takeSlots(tx, order, ['a'], next);
    if (slot) await store(tx, slot, null, randomUUID());
    return slot;
  });
}

async function store(
  tx: Tx,
  slot: SequenceSlot,
  replaces: string | null,
  submissionId: string,
): Promise<string> {
  const at = systemClock.now();
  await tx
    .insert(submissions)
    .values({
      id: submissionId,
      kind: 'retire',
      targetType: 'RETIREMENT',
      targetId: randomUUID(),
      call: {},
      state: 'PENDING',
      dueAt: at,
      createdAt: at,
    })
    .onConflictDoNothing();
  const hash = randomBytes(32).toString('hex');
  const prepared = {
    ...slot,
    hash,
    signedBytes: randomBytes(8),
    validUntil: null,
    preparedAtLedger: 1n,
  };
  await insertAttempt(tx, { clock: systemClock }, submissionId, prepared, replaces);
  return hash;
}

async function decide(slot: SequenceSlot, state: 'LANDED' | 'REFUSED' | 'DEAD'): Promise<void> {
  const { db } = database.handle;
  const [open] = await db
    .select()
    .from(attempts)
    .where(
      sql`${attempts.source} = ${slot.source} AND ${attempts.sequence} = ${slot.sequence} AND state = 'OPEN'`,
    );
  if (!open) throw new Error('nothing is open there');
  const ledger = state === 'LANDED' ? 1n : null;
  await decideAttempt(db, open.hash, state, 'decided by the test', systemClock.now(), ledger);
}

describe('an account with many open transactions', () => {
  it('gives 40 that sign at once 40 sequences in a row, and the rest nothing', async () => {
    const order = orderOf(1, 40);
    const slots = await Promise.all(Array.from({ length: 60 }, () => sign(order, startingAt(7n))));
    const given = slots.filter((slot) => slot !== null).map(({ sequence }) => sequence);
    expect(given.sort((a, b) => Number(a - b))).toEqual(
      Array.from({ length: 40 }, (_, at) => 7n + BigInt(at)),
    );
    expect((await readSigningState(database.handle.db, order)).freeSlots).toBe(0);
  });

  it('gives away again what came back, before anything new', async () => {
    const order = orderOf(1, 10);
    const slots = [];
    for (let i = 0; i < 4; i++) slots.push(await sign(order, startingAt(0n)));
    const [first, second] = slots;
    if (!first || !second) throw new Error('not reached');
    await decide(first, 'LANDED');
    await decide(second, 'DEAD');
    expect((await sign(order, startingAt(1n)))?.sequence).toBe(1n);
    expect((await sign(order, startingAt(1n)))?.sequence).toBe(4n);
  });

  it('does not give away what has landed, when a node is behind', async () => {
    const order = orderOf(1, 10);
    const slot = await sign(order, startingAt(3n));
    if (!slot) throw new Error('not reached');
    await decide(slot, 'REFUSED');
    expect((await sign(order, startingAt(3n)))?.sequence).toBe(4n);
  });

  it('is not read to its first transaction, also by plans from when it had few', async () => {
    const order = orderOf(1, 40);
    const [OPEN, MANY] = [10, 2_000];
    for (let i = 0; i < OPEN; i++) await sign(order, startingAt(BigInt(MANY + 1)));
    // A single connection, which keeps its plans.
    const handle = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' });
    const take = (from: bigint) => (tx: Tx) => takeSlots(tx, order, ['a'], startingAt(from));
    try {
      for (let i = 0; i < 4; i++) await handle.db.transaction(take(BigInt(MANY + 1)));
      await changePastRules(
        database,
        sql`INSERT INTO attempts (hash, submission_id, number, state, source, sequence, signed_bytes, prepared_at_ledger,
          created_at, ledger, decided_at, evidence) SELECT n, gen_random_uuid(), 1, 'LANDED', ${accounts[0]}, n, '', 1, now(), 1, now(), ''
          FROM generate_series(1, ${MANY}::int) n`,
      );
      // Each of a few statements reads the open ones.
      expect(await rowsReadBy(handle, ['attempts'], take(BigInt(MANY + 1)))).toBeLessThan(10 * OPEN);
    } finally {
      await handle.close();
    }
  });

  it('stops when a node calls unused what it had shown in a ledger', async () => {
    const order = orderOf(1, 10);
    const slot = await sign(order, startingAt(3n));
    if (!slot) throw new Error('not reached');
    await decide(slot, 'LANDED');
    await expect(sign(order, startingAt(3n))).rejects.toThrow(SequenceBehind);
    expect((await sign(order, startingAt(4n)))?.sequence).toBe(4n);
  });

  it('stops when the network is ahead of any account, whichever would sign', async () => {
    const order = orderOf(5, 3);
    await sign(order, startingAt(5n));
    const [source = ''] = accounts;
    for (const address of accounts) {
      const ahead = new Map([...startingAt(5n), [address, 9n]]);
      await expect(sign(order, ahead)).rejects.toThrow(SequenceAhead);
    }
    await database.handle.db
      .update(signingAccounts)
      .set({ haltedBecause: 'for the test' })
      .where(eq(signingAccounts.address, source));
    expect((await readSigningState(database.handle.db, order)).freeSlots).toBe(0);
    expect(await sign(order, startingAt(5n))).toBeNull();
    await database.handle.db
      .update(signingAccounts)
      .set({ haltedBecause: null })
      .where(eq(signingAccounts.address, source));
    expect(await sign(order, startingAt(5n))).not.toBeNull();
  });

  it('gives none to one that waited for the account while another halted it', async () => {
    const order = orderOf(1, 3);
    await sign(order, startingAt(5n));
    let waiting: Promise<SequenceSlot | null> | undefined;
    await database.handle.db.transaction(async (tx) => {
      await tx.update(signingAccounts).set({ haltedBecause: 'for the test' });
      waiting = sign(order, startingAt(5n));
      await expect.poll(() => hasLockWait(database.handle)).toBe(true);
    });
    expect(await waiting).toBeNull();
  });

  it('waits for no account while it holds another, whose last slot was just taken', async () => {
    const { db } = database.handle;
    const [full = '', held = ''] = accounts;
    const order = orderOf(2, 1);
    await db.insert(signingAccounts).values([full, held].map((address) => ({ address, nextSequence: 5n })));
    const drawn = (address: string, name: string) =>
      createHash('md5')
        .update(address + name)
        .digest('hex');
    const names = Array.from({ length: 100 }, (_, at) => `${at}`);
    const drawsFull = names.find((name) => drawn(full, name) < drawn(held, name)) ?? '';
    const lock = (tx: Tx, address: string) =>
      tx.select().from(signingAccounts).where(eq(signingAccounts.address, address)).for('update');
    await db.transaction(async (other) => {
      await lock(other, held);
      let waiting: Promise<SequenceSlot[]> | undefined;
      await db.transaction(async (tx) => {
        await lock(tx, full);
        waiting = db.transaction((last) => takeSlots(last, order, [drawsFull], startingAt(5n)));
        await expect.poll(() => hasLockWait(database.handle)).toBe(true);
        await store(tx, { source: full, sequence: 5n }, null, randomUUID());
      });
      // The other transaction may want the account that this one holds.
      expect(await waiting).toEqual([]);
    });
  });

  it('does not trust accounts that come later than the first ones, before an operator has looked', async () => {
    await sign(orderOf(2, 3), startingAt(5n));
    expect(await sign(orderOf(3, 3), startingAt(5n))).toBeNull();
    expect(await readSigningState(database.handle.db, orderOf(3, 3))).toMatchObject({
      haltedBecause: expect.any(String),
    });
  });

  it('does not wait for what is under review', async () => {
    const order = orderOf(1, 1);
    const first = await sign(order, startingAt(5n));
    expect(await sign(order, startingAt(5n))).toBeNull();
    await database.handle.db
      .update(submissions)
      .set({ state: 'NEEDS_REVIEW', reviewCause: 'UNDETERMINABLE' });
    expect(await sign(order, startingAt(6n))).toEqual({ source: first?.source, sequence: 6n });
  });

  it('never lets a sequence be taken back, or an account vanish', async () => {
    await sign(orderOf(1, 3), startingAt(5n));
    const { db } = database.handle;
    const here = eq(signingAccounts.address, accounts[0] ?? '');
    await expect(db.update(signingAccounts).set({ nextSequence: 2n }).where(here)).rejects.toThrow();
    await expect(db.delete(signingAccounts).where(here)).rejects.toThrow();
  });
});

describe('channels, with one open transaction each', () => {
  it('gives as many as there are channels, each a channel of its own', async () => {
    const order = orderOf(5, 1);
    const slots = await Promise.all(Array.from({ length: 12 }, () => sign(order, startingAt(100n))));
    const given = slots.filter((slot) => slot !== null);
    expect(given.map(({ source }) => source).sort()).toEqual([...accounts].sort());
    const [one] = given;
    if (!one) throw new Error('not reached');
    await decide(one, 'LANDED');
    const next: NextSequences = new Map(
      accounts.map((address) => [address, address === one.source ? 101n : 100n]),
    );
    expect(await sign(order, next)).toEqual({ source: one.source, sequence: 101n });
    expect(await sign(order, next)).toBeNull();
  });

  it('uses the sequence again that a dead transaction did not use up', async () => {
    const order = orderOf(1, 1);
    const slot = await sign(order, startingAt(50n));
    if (!slot) throw new Error('not reached');
    await decide(slot, 'DEAD');
    expect(await sign(order, startingAt(50n))).toEqual(slot);
  });

  it.each([
    ['halts signing', null, 1],
    ['halts nothing, when what used it before landed in vain', 'outOfGas', 0],
  ])('that was used before its transaction was made %s', async (_, cause, halts) => {
    const { db } = database.handle;
    const order = orderOf(1, 1);
    const slot = await sign(order, startingAt(50n));
    if (!slot) throw new Error('not reached');
    await db.update(attempts).set({ state: 'DEAD', evidence: 'test', decidedAt: systemClock.now(), cause });
    // A node that is behind calls the sequence unused.
    expect(await sign(order, startingAt(50n))).toEqual(slot);
    const [open] = await db.select().from(attempts).where(eq(attempts.state, 'OPEN'));
    const [submission] = await db.select().from(submissions).limit(1);
    if (!open || !submission) throw new Error('not reached');
    const store = createStepStore({ db, clock: systemClock, log: silentLog } as SubmissionDependencies);
    await store.endAttempts(submission, [open], { status: 'dead', proof: 'used in ledger 7', usedBy: null });
    expect(await readHalts(db)).toHaveLength(halts);
    // The sequence is not proved to be unused.
    expect(await db.select().from(signingAccounts)).toMatchObject([{ nextSequence: 51n }]);
  });

  it('passes over accounts that can not pay, and says so when none can', async () => {
    const [poor, rich] = accounts;
    const order = { ...orderOf(2, 1), unfunded: [poor ?? ''] };
    expect((await sign(order, startingAt(1n)))?.source).toBe(rich);
    expect(await sign(order, startingAt(1n))).toBeNull();
    expect((await readSigningState(database.handle.db, order)).freeSlots).toBe(0);
    const none = { ...orderOf(1, 1), unfunded: [poor ?? ''], leastToSpend: '1 XLM' };
    await expect(sign(none, startingAt(1n))).rejects.toThrow(
      `No signing account can pay for a write: fund ${poor} until each has 1 XLM to spend`,
    );
  });
});

describe('a sequence that was proved unused', () => {
  const giveBack = (slot: SequenceSlot) => database.handle.db.transaction((tx) => giveBackSlot(tx, slot));

  it('is unknown history when the network says that it is used', async () => {
    const order = orderOf(2, 1);
    const slots = [await sign(order, startingAt(50n)), await sign(order, startingAt(50n))];
    const [slot, other] = slots;
    if (!slot || !other) throw new Error('not reached');
    await decide(slot, 'DEAD');
    await giveBack(slot);
    // Simulates a restore: a transaction unknown to this copy has used the sequence.
    const used = new Map([...startingAt(50n), [slot.source, 51n]]);
    await expect(sign(order, used)).rejects.toThrow(SequenceAhead);
    // A sequence that its own transaction may have used is not given back.
    await giveBack(other);
    const both = new Map([...startingAt(50n), [other.source, 51n]]);
    expect(await sign(order, both)).toEqual(slot);
  });

  it('is given back once, and not when it was assigned again', async () => {
    const order = orderOf(1, 1);
    const slot = await sign(order, startingAt(50n));
    if (!slot) throw new Error('not reached');
    await decide(slot, 'DEAD');
    await giveBack(slot);
    await giveBack(slot);
    const { db } = database.handle;
    const nextOf = async () => (await db.select().from(signingAccounts)).map((row) => row.nextSequence);
    expect(await nextOf()).toEqual([50n]);
    expect(await sign(order, startingAt(50n))).toEqual(slot);
    await giveBack(slot);
    expect(await nextOf()).toEqual([51n]);
    // A transaction that landed without effect has used its sequence, whatever a node says now.
    const [open] = await db.select().from(attempts).where(eq(attempts.state, 'OPEN'));
    await markDead(db, [open?.hash ?? ''], 'by the test', systemClock.now(), 'out of gas');
    await giveBack(slot);
    expect(await nextOf()).toEqual([51n]);
    const here = eq(signingAccounts.address, slot.source);
    await expect(db.update(signingAccounts).set({ nextSequence: 50n }).where(here)).rejects.toThrow();
  });
});

describe('the database', () => {
  it.each(['LANDED', 'REFUSED'] as const)(
    'gives no other the slot of an attempt that is %s',
    async (state) => {
      const slot = await sign(orderOf(1, 1), startingAt(50n));
      if (!slot) throw new Error('not reached');
      await decide(slot, state);
      const again = database.handle.db.transaction((tx) => store(tx, slot, null, randomUUID()));
      await expect(again).rejects.toMatchObject({ cause: { constraint_name: 'attempts_slot' } });
    },
  );
});

describe('copies of one database', () => {
  it('sign the same attempt in the same slot, and the next attempt elsewhere', async () => {
    const order = orderOf(5, 1);
    const drawn = async (...wanted: string[]): Promise<SequenceSlot[]> => {
      let slots: SequenceSlot[] = [];
      const undone = database.handle.db.transaction(async (tx) => {
        slots = await takeSlots(tx, order, wanted, startingAt(7n));
        throw new Error('undone');
      });
      await expect(undone).rejects.toThrow('undone');
      return slots;
    };
    const numbers = Array.from({ length: 12 }, (_, i) => `submission ${i + 1}`);
    const first = await Promise.all(numbers.map((name) => drawn(name)));
    expect(await Promise.all(numbers.map((name) => drawn(name)))).toEqual(first);
    expect(new Set(first.map(([slot]) => slot?.source)).size).toBeGreaterThan(1);
    const [one = ''] = numbers;
    expect(await drawn(one, 'another', 'a third')).toEqual(await drawn(one, 'another', 'a third'));
  });
});

describe('replacing', () => {
  it('shares the slot of the attempt that it replaces, and nothing else', async () => {
    const { db } = database.handle;
    const order = orderOf(1, 2);
    const submissionId = randomUUID();
    const first = await db.transaction(async (tx) => {
      const [slot = null] = await takeSlots(tx, order, ['a'], startingAt(0n));
      if (!slot) throw new Error('not reached');
      return { slot, hash: await store(tx, slot, null, submissionId) };
    });
    const higher = await db.transaction((tx) => store(tx, first.slot, first.hash, submissionId));
    // Both attempts take one slot together.
    expect((await readSigningState(db, order)).freeSlots).toBe(1);
    const elsewhere = { ...first.slot, sequence: first.slot.sequence + 1n };
    await expect(db.transaction((tx) => store(tx, elsewhere, higher, submissionId))).rejects.toThrow();
    await expect(db.transaction((tx) => store(tx, first.slot, first.hash, submissionId))).rejects.toThrow();
    await expect(db.transaction((tx) => store(tx, first.slot, null, submissionId))).rejects.toThrow();
    await expect(db.transaction((tx) => store(tx, first.slot, null, randomUUID()))).rejects.toThrow();
    await decideAttempt(db, higher, 'LANDED', 'by the test', systemClock.now(), 1n);
    await expect(db.transaction((tx) => store(tx, first.slot, higher, submissionId))).rejects.toThrow();
  });

  it('is refused if another instance was faster, and does not happen under review', async () => {
    const { db } = database.handle;
    const submissionId = randomUUID();
    const order = orderOf(1, 2);
    await db.transaction(async (tx) => {
      const [slot = null] = await takeSlots(tx, order, ['a'], startingAt(0n));
      if (slot) await store(tx, slot, null, submissionId);
    });
    const ofSubmission = eq(attempts.submissionId, submissionId);
    const [latest] = await db.select().from(attempts).where(ofSubmission);
    if (!latest) throw new Error('not reached');
    const replace = () => {
      const prepared = { ...latest, hash: randomBytes(32).toString('hex') };
      const network = { signingOrder: order, replace: async () => prepared };
      return replaceAttempt({ db, network, clock: systemClock } as unknown as SubmissionDependencies, latest);
    };
    const setState = (values: { state: 'NEEDS_REVIEW' | 'PENDING'; reviewCause: 'UNDETERMINABLE' | null }) =>
      db.update(submissions).set(values).where(eq(submissions.id, submissionId));
    await setState({ state: 'NEEDS_REVIEW', reviewCause: 'UNDETERMINABLE' });
    expect(await replace()).toBeNull();
    await setState({ state: 'PENDING', reviewCause: null });
    expect(await replace()).toMatchObject({ replaces: latest.hash, number: 2 });
    await expect(replace()).rejects.toThrow();
    expect(await db.$count(attempts, ofSubmission)).toBe(2);
    await markDead(db, [latest.hash], 'by the test', systemClock.now());
    await expect(replace()).rejects.toThrow();
  });

  it('counts as one signature and one death, however often it was done', async () => {
    const { db } = database.handle;
    const submissionId = randomUUID();
    const [first, higher] = await db.transaction(async (tx) => {
      const [slot = null] = await takeSlots(tx, orderOf(1, 2), ['a'], startingAt(0n));
      if (!slot) throw new Error('not reached');
      const hash = await store(tx, slot, null, submissionId);
      return [hash, await store(tx, slot, hash, submissionId)];
    });
    expect(await readCauses(db, submissionId, 0, 20)).toEqual([null]);
    await markDead(db, [first, higher], 'it landed without effect', systemClock.now(), 'outOfGas');
    expect(await readCauses(db, submissionId, 0, 20)).toEqual(['outOfGas']);
  });
});
