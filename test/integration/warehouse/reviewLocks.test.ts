/**
 * All decisions on a cash-out's review take their locks in one order: decisions on the submission's review
 * and on the session's, made together with an answer of the network, never deadlock. A submission's review is
 * decided also when its session is not under review.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Platform } from '../../../src/startup/compose.ts';
import { submissions } from '../../../src/db/tables/index.ts';
import { settle, type Submission } from '../../../src/ledger/submission/settle.ts';
import { findUndecided } from '../../../src/resolvers/operations/undecidedSubmission.ts';
import { lockOffRampSession } from '../../../src/resolvers/warehouse/offRamp/offRampMoves.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { stepOffRampSession } from '../../../src/resolvers/warehouse/offRamp/stepOffRampSession.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { decideSubmission } from '../../support/decisions.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import {
  activeReceipt,
  cashOutInput,
  decideReviewOf,
  decideSession,
  farmer,
} from '../../support/warehouse.ts';

const ROUNDS = 60;

let database: TestDatabase;
/** A platform without workers, so only the test moves the session. */
let platform: Platform;
let offRampSessionId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const network = await embeddedNetworkOn(database.handle);
  const working = await platformOn(database.handle, network);
  await working.start();
  const receipt = await activeReceipt(working);
  await working.stop();
  platform = await platformOn(database.handle, network, { mutationWaitMs: 0 });
  const { dependencies } = platform;
  ({ id: offRampSessionId } = await cashOut(dependencies, farmer, cashOutInput(receipt)));
  const begun = await findOffRampSession(dependencies, offRampSessionId);
  if (!begun) throw new Error('the cash-out has vanished');
  await stepOffRampSession(dependencies, begun);
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

async function readDeposit(): Promise<Submission> {
  const [submission] = await database.handle.db
    .select()
    .from(submissions)
    .where(eq(submissions.targetId, offRampSessionId));
  if (!submission) throw new Error('the cash-out has no deposit');
  return submission;
}

it(`are decided ${ROUNDS} times at once, each by one of them`, { timeout: 120_000 }, async () => {
  const { dependencies } = platform;
  const outcomes: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const reason = `round ${round}`;
    const deposit = await readDeposit();
    await settle(dependencies.submission, deposit, {
      kind: 'needsReview',
      attemptHash: null,
      cause: 'UNDETERMINABLE',
      reason,
    });
    expect(await findOffRampSession(dependencies, offRampSessionId)).toMatchObject({ state: 'NEEDS_REVIEW' });
    const retry = { offRampSessionId, decision: 'RETRY', reason } as const;
    const results = await Promise.allSettled([
      decideSubmission(dependencies, 'operator-1', {
        submissionId: deposit.id,
        decision: 'RESUME',
        reason,
      }),
      decideSession(dependencies, 'operator-2', retry),
      decideSession(dependencies, 'operator-3', retry),
      settle(dependencies.submission, deposit, {
        kind: 'needsReview',
        attemptHash: null,
        cause: 'UNDETERMINABLE',
        reason,
      }),
    ]);
    for (const result of results) {
      if (result.status === 'rejected')
        outcomes.push((result.reason as { code?: string }).code ?? String(result.reason));
    }
  }
  expect(outcomes.filter((code) => code !== 'CONFLICT')).toEqual([]);
});

it('goes on by RESUME although it could not be flagged when its deposit went to review', async () => {
  const { dependencies } = platform;
  const deposit = await readDeposit();
  const { effects } = dependencies.submission;
  const ofSessions = effects.CUSTODY.OFF_RAMP_SESSION;
  const of = ofSessions?.depositOffRamp;
  if (!ofSessions || !of || !('refused' in of)) throw new Error('deposits have no effects');
  const needsReview = () => Promise.reject(new Error('a test says so'));
  const sessions = { ...ofSessions, depositOffRamp: { ...of, needsReview } };
  const unflagged = {
    ...dependencies.submission,
    effects: { ...effects, CUSTODY: { ...effects.CUSTODY, OFF_RAMP_SESSION: sessions } },
  };
  const cause = 'SETTLEMENT_FAILED';
  const reason = 'it failed';
  await settle(unflagged, deposit, { kind: 'needsReview', attemptHash: null, cause, reason });
  expect(await readDeposit()).toMatchObject({ state: 'NEEDS_REVIEW' });
  expect(await findOffRampSession(dependencies, offRampSessionId)).toMatchObject({ state: 'DEPOSITING' });
  const decision = { submissionId: deposit.id, decision: 'RESUME', reason } as const;
  expect(await decideSubmission(dependencies, 'operator-1', decision)).toMatchObject({
    state: 'PENDING',
  });
});

it('is not decided when a submission of its goes to review between the first lock and the last', async () => {
  const { dependencies } = platform;
  const deposit = await readDeposit();
  const undeterminable = { kind: 'needsReview', attemptHash: null, cause: 'UNDETERMINABLE' } as const;
  await settle(dependencies.submission, deposit, { ...undeterminable, reason: 'a node has no answer' });
  const setTarget = (id: string) =>
    changePastRules(database, sql`UPDATE submissions SET target_id = ${id} WHERE id = ${deposit.id}`);
  await setTarget(randomUUID());
  let deciding: Promise<unknown> | undefined;
  await database.handle.db.transaction(async (tx) => {
    await lockOffRampSession(tx, offRampSessionId);
    deciding = decideReviewOf(platform, offRampSessionId, 'ACCEPT');
    deciding.catch(() => {});
    await expect.poll(() => hasLockWait(database.handle)).toBe(true);
    await setTarget(offRampSessionId);
  });
  await expect(deciding).rejects.toMatchObject({
    code: 'CONFLICT',
    details: { field: 'input.offRampSessionId' },
  });
});

it('of several undecided submissions, the first by id counts', async () => {
  const { db } = database.handle;
  const targetId = randomUUID();
  const [first = '', last = ''] = [randomUUID(), randomUUID()].sort();
  const of = (id: string, kind: 'setAllowance' | 'depositOffRamp') =>
    sql`INSERT INTO submissions (id, kind, target_type, target_id, call, state, due_at, created_at)
      VALUES (${id}, ${kind}, 'OFF_RAMP_SESSION', ${targetId}, '{}', 'PENDING', now(), now())`;
  const undecided = await db.transaction(async (tx) => {
    // Their session is missing. Neither the order of the rows nor that of the kinds is the order of the ids.
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    await tx.execute(of(last, 'depositOffRamp'));
    await tx.execute(of(first, 'setAllowance'));
    return findUndecided(tx, targetId, 'lock');
  });
  expect(undecided?.id).toBe(first);
});
