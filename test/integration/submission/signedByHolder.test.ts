/**
 * A holder's signed transactions, committed by two requests at once, or while an earlier one is found dead.
 * No worker runs.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Tx } from '../../../src/db/connection.ts';
import type { HolderCall, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { findOpenAttempts } from '../../../src/ledger/submission/attempts.ts';
import { addReplacement, enqueueSigned } from '../../../src/ledger/submission/signedByHolder.ts';
import { readTransactions } from '../../../src/resolvers/carbon/findRetirement.ts';
import { createStepStore } from '../../../src/ledger/submission/stepStore.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { submissions } from '../../../src/db/tables/index.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { idlePlatform, type StartedPlatform } from '../../support/platform.ts';

const call: HolderCall = { kind: 'retire', tokenAddress: 'T', amount: 1n, beneficiary: 'b', note: '' };
const deps = { clock: systemClock, ids: { next: () => randomUUID() } };
let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];

beforeAll(async () => {
  ({ database, platform, end } = await idlePlatform());
});
afterAll(() => end());

const signed = (source: string): PreparedTransaction => ({
  hash: `0x${randomBytes(32).toString('hex')}`,
  signedBytes: randomBytes(8),
  source,
  sequence: 5n,
  validUntil: null,
  preparedAtLedger: 1n,
});
/** The timeout is shorter than the time after which PostgreSQL ends the lock holder's transaction. */
const awaitLockWait = () => expect.poll(() => hasLockWait(database.handle), { timeout: 5_000 }).toBe(true);
const enqueue = (tx: Tx, transaction: PreparedTransaction) =>
  enqueueSigned(tx, deps, { targetType: 'HOLDER_ACT', targetId: randomUUID(), call }, transaction);

it('in one slot is taken once, and the other one is told so', async () => {
  const { db } = database.handle;
  let second: Promise<unknown> = Promise.resolve();
  await db.transaction(async (tx) => {
    await enqueue(tx, signed('W1'));
    second = db.transaction((other) => enqueue(other, signed('W1')));
    second.catch(() => {});
    await awaitLockWait();
  });
  await expect(second).rejects.toMatchObject({ code: 'CONFLICT' });
});

it('is replaced before it is found dead, or not at all', async () => {
  const { db } = database.handle;
  const { submission: dependencies } = platform.dependencies;
  const store = createStepStore(dependencies);
  const id = await db.transaction((tx) => enqueue(tx, signed('W2')));
  const submission = (await db.select().from(submissions)).find((row) => row.id === id);
  if (!submission) throw new Error('the submission has vanished');
  const open = await findOpenAttempts(db, id);
  let ended: Promise<void> = Promise.resolve();
  await db.transaction(async (tx) => {
    await tx.select().from(submissions).for('update');
    ended = store.endAttempts(submission, open, { status: 'dead', proof: 'its time is over' });
    await awaitLockWait();
    await addReplacement(tx, deps, id, signed('W2'));
  });
  await ended;
  expect(await findOpenAttempts(db, id)).toHaveLength(1);
});

it('is listed after the transaction that it replaces, whatever the clock of its process says', async () => {
  const { db } = database.handle;
  const targetId = randomUUID();
  const [first, second] = [signed('W3'), signed('W3')];
  const target = { targetType: 'HOLDER_ACT', targetId, call } as const;
  const id = await db.transaction((tx) => enqueueSigned(tx, deps, target, first));
  const behind = { ...deps, clock: { now: () => new Date(Date.now() - 3_600_000) } };
  await db.transaction((tx) => addReplacement(tx, behind, id, second));
  const listed = await readTransactions({ db }, [targetId]);
  expect(listed.get(targetId)?.map(({ txHash }) => txHash)).toEqual([first.hash, second.hash]);
});
