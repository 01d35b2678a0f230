/**
 * One statement makes submissions due again when their steps end together, each with its own values.
 */
import { eq, sql } from 'drizzle-orm';
import { expect, it } from 'vitest';
import type { Db } from '../../../src/db/connection.ts';
import { submissions } from '../../../src/db/tables/index.ts';
import { createRescheduling } from '../../../src/ledger/submission/rescheduling.ts';
import { reviewWorld } from '../../support/reviews.ts';

const { handle, pendingRetirement } = reviewWorld();

async function pendingSubmission() {
  const { submissionId } = await pendingRetirement(1n);
  return read(submissionId);
}

async function read(id: string) {
  const [row] = await handle().db.select().from(submissions).where(eq(submissions.id, id));
  if (!row) throw new Error('it has vanished');
  return row;
}

function counting(db: Db) {
  let statements = 0;
  const execute: Db['execute'] = (query) => {
    statements += 1;
    return db.execute(query);
  };
  return { db: { execute }, count: () => statements };
}

const secondsAhead = async (id: string) => {
  const [row] = await handle().db.execute<{ seconds: number }>(
    sql`SELECT extract(epoch FROM due_at - now())::float8 AS seconds FROM submissions WHERE id = ${id}`,
  );
  return row?.seconds;
};

it('makes those that wait together due by one statement, each after its own delay', async () => {
  const [looked, failed] = [await pendingSubmission(), await pendingSubmission()];
  const { db, count } = counting(handle().db);
  const reschedule = createRescheduling(db);
  await Promise.all([
    reschedule(looked, { delayMs: 60_000, fruitlessSteps: 1, failedSteps: 0, stateReason: null }),
    reschedule(failed, { delayMs: 600_000, fruitlessSteps: 0, failedSteps: 1, stateReason: 'no answer' }),
  ]);
  expect(count()).toBe(1);
  expect(await read(looked.id)).toMatchObject({ fruitlessSteps: 1, failedSteps: 0, stateReason: null });
  expect(await read(failed.id)).toMatchObject({
    fruitlessSteps: 0,
    failedSteps: 1,
    stateReason: 'no answer',
  });
  expect(await secondsAhead(looked.id)).toBeCloseTo(60, -1);
  expect(await secondsAhead(failed.id)).toBeCloseTo(600, -1);
});

it('leaves alone what is settled, was made due anew, or is held by another transaction', async () => {
  const [settled, anew, held, free] = [
    await pendingSubmission(),
    await pendingSubmission(),
    await pendingSubmission(),
    await pendingSubmission(),
  ];
  const { db } = handle();
  await db.update(submissions).set({ fruitlessSteps: 7 }).where(eq(submissions.id, anew.id));
  await db
    .update(submissions)
    .set({ state: 'REFUSED', refusalReason: 'NO_FUNDS', stateReason: 'no', settledAt: sql`now()` })
    .where(eq(submissions.id, settled.id));
  const reschedule = createRescheduling(db);
  const next = { delayMs: 60_000, fruitlessSteps: 1, failedSteps: 0, stateReason: null };
  await db.transaction(async (tx) => {
    await tx.select().from(submissions).where(eq(submissions.id, held.id)).for('update');
    await Promise.all([settled, anew, held, free].map((submission) => reschedule(submission, next)));
  });
  const counts = await Promise.all(
    [settled, anew, held, free].map(async ({ id }) => (await read(id)).fruitlessSteps),
  );
  expect(counts).toEqual([0, 7, 0, 1]);
});

it('takes a submission whose reason can not be stored out of the rest', async () => {
  const [sound, unsound] = [await pendingSubmission(), await pendingSubmission()];
  const reschedule = createRescheduling(handle().db);
  const next = { delayMs: 60_000, fruitlessSteps: 1, failedSteps: 0 };
  const [stored, refused] = await Promise.allSettled([
    reschedule(sound, { ...next, stateReason: null }),
    reschedule(unsound, { ...next, stateReason: 'no\u0000thing' }),
  ]);
  expect([stored.status, refused.status]).toEqual(['fulfilled', 'rejected']);
  expect(await read(sound.id)).toMatchObject({ fruitlessSteps: 1 });
});
