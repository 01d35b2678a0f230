/**
 * On a network that does not show waiting transactions, a copy of the database signs nothing while
 * transactions signed in its lost history may still land. The time at which an instance last saw the network
 * identifies a copy, its timeline a promoted standby.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { guardLedgerNumbers, WHOLE_HISTORY } from '../../../src/ledger/network/continuity.ts';
import type { LedgerNetwork, SigningOrder } from '../../../src/ledger/network/port.ts';
import { openSeenLedgers } from '../../../src/ledger/network/seenLedgers.ts';
import { requireKnownHistory } from '../../../src/ledger/submission/knownHistory.ts';
import { readSigningState, takeSlots } from '../../../src/ledger/submission/sequenceSlots.ts';
import type { SubmissionDependencies } from '../../../src/ledger/submission/submission.ts';
import { createReadiness } from '../../../src/http/server/readiness.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

const UNSEEN: SigningOrder = { accounts: ['C'], maxOpenPerAccount: 1, landsUnseenForSeconds: 90 };
const SHOWN: SigningOrder = { accounts: ['C'], maxOpenPerAccount: 1 };

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() => database.handle.db.execute(sql`DELETE FROM final_ledger`));

/** Stores when instances last saw the network, and when they saw it again after a longer time. */
async function lastSeen(secondsAgo: number, resumedSecondsAgo: number | null = null): Promise<void> {
  const ago = (seconds: number | null) => sql`now() - make_interval(secs => ${seconds}::float8)`;
  await database.handle.db
    .execute(sql`INSERT INTO final_ledger (ledger, seen_at, database_history, resumed_at)
    VALUES (100, ${ago(secondsAgo)}, database_history(), ${ago(resumedSecondsAgo)})`);
}

const freeSlots = async (order: SigningOrder) =>
  (await readSigningState(database.handle.db, order)).freeSlots;

it('signs on a database that has not seen a network yet, and on one whose instances go on', async () => {
  expect(await freeSlots(UNSEEN)).toBe(1);
  await lastSeen(60);
  expect(await freeSlots(UNSEEN)).toBe(1);
});

it('signs nothing on a copy, until what was signed a moment ago elsewhere can land no more', async () => {
  await lastSeen(3_600);
  expect(await freeSlots(UNSEEN)).toBe(0);
  const { db } = database.handle;
  const seen = await openSeenLedgers({ db, log: { warn: () => {} } });
  seen.note({ ledger: 200n, hash: null });
  const isResumed = async () =>
    (await db.execute(sql`SELECT 1 FROM final_ledger WHERE seen_at > now() - interval '1 minute'`)).length;
  await expect.poll(isResumed, { timeout: 10_000 }).toBe(1);
  expect(await freeSlots(UNSEEN)).toBe(0);
  await db.execute(sql`UPDATE final_ledger SET resumed_at = resumed_at - interval '3 minutes'`);
  expect(await freeSlots(UNSEEN)).toBe(1);
  seen.note({ ledger: 201n, hash: null });
  await expect
    .poll(async () => (await db.execute(sql`SELECT 1 FROM final_ledger WHERE ledger = 201`)).length)
    .toBe(1);
  expect(await freeSlots(UNSEEN)).toBe(1);
});

it.each([
  ['was promoted', `replace(database_history(), '/0', '/1')`],
  ['did not tell its history, or tells it now', 'NULL'],
])('waits on a server that %s, however lately the network was seen', async (_what, history) => {
  await lastSeen(1);
  const { db } = database.handle;
  await db.execute(sql`UPDATE final_ledger SET database_history = ${sql.raw(history)}`);
  expect(await freeSlots(UNSEEN)).toBe(0);
  const seen = await openSeenLedgers({ db, log: { warn: () => {} } });
  seen.note({ ledger: 200n, hash: null });
  const isSeen = async () => (await db.execute(sql`SELECT 1 FROM final_ledger WHERE ledger = 200`)).length;
  await expect.poll(isSeen, { timeout: 10_000 }).toBe(1);
  expect(await freeSlots(UNSEEN)).toBe(0);
  await db.execute(sql`UPDATE final_ledger SET resumed_at = resumed_at - interval '3 minutes'`);
  expect(await freeSlots(UNSEEN)).toBe(1);
});

it('gives no slot to what was drafted before the server was promoted', async () => {
  await lastSeen(1);
  const { db } = database.handle;
  const undo = new Error('undone');
  const taking = db.transaction(async (tx) => {
    const take = () => takeSlots(tx, UNSEEN, ['a'], new Map([['C', 5n]]));
    expect(await take()).toEqual([{ source: 'C', sequence: 5n }]);
    await tx.execute(sql`UPDATE final_ledger SET database_history = replace(database_history(), '/0', '/1')`);
    expect(await take()).toEqual([]);
    throw undo;
  });
  await expect(taking).rejects.toThrow(undo);
});

it('goes by the time alone where the server does not tell its history', async () => {
  await lastSeen(60);
  const { db } = database.handle;
  await db
    .transaction(async (tx) => {
      await tx.execute(sql`UPDATE final_ledger SET database_history = NULL`);
      await tx.execute(sql`CREATE OR REPLACE FUNCTION database_history() RETURNS text LANGUAGE plpgsql AS $$
        BEGIN RETURN NULL; END $$`);
      expect((await readSigningState(tx, UNSEEN)).freeSlots).toBe(1);
      throw new Error('undone');
    })
    .catch((error: Error) => expect(error.message).toBe('undone'));
});

it('waits on a copy whose clock is behind that of its original, and no longer than a clock was ahead', async () => {
  await lastSeen(-3_600, -3_600);
  expect(await freeSlots(UNSEEN)).toBe(0);
  const { db } = database.handle;
  const seen = await openSeenLedgers({ db, log: { warn: () => {} } });
  seen.note({ ledger: 200n, hash: null });
  const isAhead = async () =>
    (await db.execute(sql`SELECT 1 FROM final_ledger WHERE greatest(seen_at, resumed_at) > now()`)).length;
  await expect.poll(isAhead, { timeout: 10_000 }).toBe(0);
  expect(await freeSlots(UNSEEN)).toBe(0);
  await db.execute(sql`UPDATE final_ledger SET resumed_at = resumed_at - interval '3 minutes'`);
  expect(await freeSlots(UNSEEN)).toBe(1);
});

it.each([
  ['signs when', 120n, 1],
  ['waits when more than', 121n, 0],
])(
  '%s two minutes of the network have passed since a ledger was seen, whatever the clock says',
  async (_what, passed, slots) => {
    await lastSeen(1);
    const { db } = database.handle;
    await db.execute(sql`UPDATE final_ledger SET closed_at = 1000`);
    const node = {
      ...WHOLE_HISTORY,
      status: async () => ({ ledger: 101n, closedAt: 1_000n + passed, oldestLedger: 1n }),
      nextSequences: async () => new Map([['C', 7n]]),
    };
    const seen = await openSeenLedgers({ db, log: { warn: () => {} } });
    const network = guardLedgerNumbers(node as unknown as LedgerNetwork, seen, () => performance.now());
    // Signing always asks for the sequences first.
    await network.nextSequences('latest');
    expect(await freeSlots(UNSEEN)).toBe(slots);
  },
);

it('waits for a ledger from after that time: a node that stands still shows nothing', async () => {
  await lastSeen(60, 200);
  expect(await freeSlots(UNSEEN)).toBe(0);
  await database.handle.db.execute(sql`UPDATE final_ledger SET seen_at = now()`);
  expect(await freeSlots(UNSEEN)).toBe(1);
});

it('returns nothing to a buyer meanwhile', async () => {
  await lastSeen(1, 1);
  const nextSequences = async () => new Map([['C', 7n]]);
  const network = { signingOrder: UNSEEN, nextSequences } as unknown as LedgerNetwork;
  const asked = requireKnownHistory({ db: database.handle.db, network } as unknown as SubmissionDependencies);
  await expect(asked).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('may still land'),
  });
});

it('says so where operators look', async () => {
  await lastSeen(1, 1);
  const readiness = createReadiness({
    db: database.handle.db,
    network: { signingOrder: UNSEEN } as unknown as LedgerNetwork,
    findBroken: async () => [],
    readOpenWork: async () => {
      throw new Error('not asked here');
    },
    publicReads: { replicas: () => [] },
    isListening: () => true,
  });
  expect((await readiness()).checks['signing']).toMatch(/^waiting: .* may still land/);
  await database.handle.db.execute(sql`UPDATE final_ledger SET resumed_at = NULL`);
  expect((await readiness()).checks['signing']).toBeUndefined();
});

it('waits for nothing where the node shows what waits', async () => {
  await lastSeen(3_600, 10);
  expect(await freeSlots(SHOWN)).toBe(1);
});
