/**
 * One run of the expiry job: marks every receipt expired that is past its date by the network's clock.
 *
 *   due receipts (database index, a page at a time) ─▶ isExpired? (one read for the page)
 *      ─▶ item PENDING + markExpired intent of each (one transaction a page) ─▶ decided by expiryEffects.ts
 *
 * The instance that inserts a receipt's PENDING item handles it; others skip the receipt. An interrupted run
 * is swept again by any instance, without the receipts that have an item already. If two instances sweep it at
 * once, it gets no further items when either has ended the sweep.
 */
import { and, eq, inArray, isNull, sql, type SQL } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import type { Tx } from '../db/connection.ts';
import { hotSelect } from '../db/hotQueries.ts';
import { insertionOf, isOneOf } from '../db/manyRows.ts';
import { isTransient } from '../db/transientFailures.ts';
import { expiryItems, expiryRuns, receipts, submissions } from '../db/tables/index.ts';
import { innermostMessage } from '../lib/errors.ts';
import { NetworkUnavailable, type ExpiryAnswer } from '../ledger/network/port.ts';
import { insertionOfIntents } from '../ledger/submission/enqueue.ts';
import { NEW_SUBMISSION } from '../ledger/submission/submission.ts';
import type { Needs } from '../resolvers/core/dependencies.ts';
import { ask, duePages, type DueReceipt } from './dueReceipts.ts';
import { finishIfComplete } from './expiryEffects.ts';

export type ExpiryRun = typeof expiryRuns.$inferSelect;

export type SweepNeeds = Needs<'db' | 'network' | 'clock' | 'ids' | 'stateSignal' | 'log'>;

/**
 * Maximum sweeps, in about a quarter of an hour (expiryRuns.ts). A receipt that has no answer by then, or
 * can't be written, is recorded as failed, and asked about the next night.
 */
const MAX_SWEEPS_WITHOUT_ANSWER = 12;

/**
 * Maximum receipts of one sweep at which the database fails for a transient reason. The others do not wait for
 * them; more say that the database is away, and each may last until a statement's timeout.
 */
const MAX_TRANSIENT_FAILURES = 5;

type ItemState = (typeof expiryItems.state.enumValues)[number];
type SubmissionState = (typeof submissions.state.enumValues)[number];

/**
 * Examines every due receipt once and writes the intents, which submission sends.
 * @throws NetworkUnavailable, or a transient error of the database: not all is examined, sweep again later
 */
export async function sweep(
  deps: SweepNeeds,
  run: Pick<ExpiryRun, 'id'> & Partial<Pick<ExpiryRun, 'fruitlessSteps'>>,
): Promise<void> {
  const { closedAt } = await deps.network.status();
  // The receipt's one item: with NOT EXISTS, the plan for a small table reads all items for each receipt.
  const notYetExamined = sql`(SELECT i.receipt_id FROM ${expiryItems} i
    WHERE i.run_id = ${run.id} AND i.receipt_id = ${receipts.id}) IS NULL`;
  const isPatient = (run.fruitlessSteps ?? 0) < MAX_SWEEPS_WITHOUT_ANSWER;
  const failures: unknown[] = [];
  let examined = 0;
  let unanswered = 0;
  for await (const page of duePages(deps, closedAt, notYetExamined)) {
    const answers = await ask(deps, page);
    const known = isPatient ? page.filter(({ tokenAddress }) => isAnswer(answers.get(tokenAddress))) : page;
    if (known.length > 0) await examine(deps, { id: run.id, isPatient, failures }, known, answers);
    unanswered += page.length - known.length;
    examined += page.length;
    deps.stateSignal.notify(NEW_SUBMISSION);
  }
  if (unanswered > 0) {
    throw new NetworkUnavailable(
      `the network gave no answer about ${unanswered} of ${examined} receipts: they are asked about again`,
    );
  }
  if (failures.length > 0) throw failures[0];
  await deps.db.transaction(async (tx) => {
    // Waits for the pages that other sweeps of this run are deciding (isOpenFor).
    const ofRun = eq(expiryRuns.id, run.id);
    await tx.select({ id: expiryRuns.id }).from(expiryRuns).where(ofRun).for('update');
    const sweptAt = deps.clock.now();
    await tx
      .update(expiryRuns)
      .set({ sweptAt, dueAt: null, problem: null })
      .where(and(ofRun, isNull(expiryRuns.sweptAt)));
    await finishIfComplete(tx, run.id, sweptAt);
  });
}

/** An adapter that asks about each receipt alone gets this error for each if the node is busy or down. */
function isAnswer(answer: ExpiryAnswer | undefined): boolean {
  return answer !== undefined && !('error' in answer && answer.error instanceof NetworkUnavailable);
}

/** The next state of a due receipt; null when its markExpired is under way, whose item records the result. */
type NextState =
  { state: 'PENDING' | 'EXPIRED' | 'NOT_DUE'; message: null } | { state: 'FAILED'; message: string } | null;

type Answers = ReadonlyMap<string, ExpiryAnswer>;

/**
 * Examines a page in one transaction. A page that fails is split, so that a bad receipt fails alone and is
 * recorded. While the run is patient, a transient error, such as a deadlock, is kept in `failures` instead: the
 * receipt did not cause it, and the next sweep examines it again.
 * @throws the transient error after which the sweep ends
 */
async function examine(
  deps: SweepNeeds,
  run: { id: string; isPatient: boolean; failures: unknown[] },
  page: readonly DueReceipt[],
  answers: Answers,
): Promise<void> {
  try {
    await decide(deps, run.id, page, answers);
  } catch (error) {
    const [receipt] = page;
    if (receipt === undefined || page.length > 1) {
      for (const one of page) await examine(deps, run, [one], answers);
      return;
    }
    if (run.isPatient && isTransient(error)) {
      run.failures.push(error);
      if (run.failures.length < MAX_TRANSIENT_FAILURES) return;
      throw error;
    }
    deps.log.warn({ receiptId: receipt.id, err: error }, 'receipt not expired');
    const noted = [{ receipt, message: innermostMessage(error) }];
    await deps.db.transaction(async (tx) => {
      if (await isOpenFor(tx, run.id)) await addItems(tx, itemsOf(deps, run.id, 'FAILED', noted));
    });
  }
}

/**
 * Whether the run still takes items. If so, its sweep does not end before the transaction does. The lock is the
 * one that an item's reference to the run takes, which settlements don't wait for.
 */
async function isOpenFor(tx: Tx, runId: string): Promise<boolean> {
  const [run] = await tx
    .select({ sweptAt: expiryRuns.sweptAt })
    .from(expiryRuns)
    .where(eq(expiryRuns.id, runId))
    .for('key share');
  return run?.sweptAt === null;
}

async function decide(
  deps: SweepNeeds,
  runId: string,
  page: readonly DueReceipt[],
  answers: Answers,
): Promise<void> {
  const adopted = await deps.db.transaction(async (tx) => {
    if (!(await isOpenFor(tx, runId))) return [];
    const ids = JSON.stringify(page.map(({ id }) => id));
    const locking = lockActive(tx, { ids });
    // Sent second, so that the read runs once the receipts are locked.
    const [locked, undecided] = await Promise.all([locking, selectUnderWay(tx, { ids })]);
    const active = new Set(locked.map(({ id }) => id));
    const underWay = new Map(undecided.map(({ targetId, state }) => [targetId, state]));
    const decided = page
      .filter(({ id }) => active.has(id))
      .map((receipt) => ({
        receipt,
        next: nextOf(underWay.get(receipt.id), answers.get(receipt.tokenAddress)),
      }));
    const of = (state: ItemState) =>
      decided.flatMap(({ receipt, next }) =>
        next?.state === state ? [{ receipt, message: next.message }] : [],
      );
    await askToMark(tx, deps, runId, of('PENDING'));
    for (const state of ['NOT_DUE', 'FAILED'] as const) {
      await addItems(tx, itemsOf(deps, runId, state, of(state)));
    }
    return adoptExpired(tx, deps, runId, of('EXPIRED'));
  });
  for (const receiptId of adopted) deps.stateSignal.notify(receiptId);
}

/** Locks the receipts still active: no other run begins to expire them until the transaction ends. */
export const lockActive = hotSelect(
  new QueryBuilder()
    .select({ id: receipts.id })
    .from(receipts)
    .where(and(isOneOf(receipts.id, sql.placeholder('ids')), eq(receipts.state, 'ACTIVE')))
    // In the same order everywhere, so that concurrent runs can't deadlock.
    .orderBy(receipts.id)
    .for('update'),
);

/** The receipts' undecided markExpired submissions. */
const selectUnderWay = hotSelect(
  new QueryBuilder()
    .select({ targetId: submissions.targetId, state: submissions.state })
    .from(submissions)
    .where(
      and(
        isOneOf(submissions.targetId, sql.placeholder('ids')),
        eq(submissions.kind, 'markExpired'),
        inArray(submissions.state, ['PENDING', 'NEEDS_REVIEW']),
      ),
    ),
);

/** @param underWay the state of the receipt's undecided markExpired submission */
function nextOf(underWay: SubmissionState | undefined, answer: ExpiryAnswer | undefined): NextState {
  if (underWay === 'NEEDS_REVIEW') {
    return { state: 'FAILED', message: 'its earlier markExpired waits for an operator' };
  }
  if (underWay !== undefined) return null;
  if (!answer) return { state: 'FAILED', message: 'the network gave no answer' };
  if ('error' in answer) return { state: 'FAILED', message: answer.error.message };
  if (answer.status === 'EXPIRED') return { state: 'EXPIRED', message: null };
  return { state: answer.isExpired ? 'PENDING' : 'NOT_DUE', message: null };
}

interface Noted {
  receipt: DueReceipt;
  message: string | null;
}

async function askToMark(tx: Tx, deps: SweepNeeds, runId: string, due: readonly Noted[]): Promise<void> {
  if (due.length === 0) return;
  const intents = due.map(({ receipt }) => ({
    targetType: 'RECEIPT' as const,
    targetId: receipt.id,
    call: { kind: 'markExpired' as const, tokenAddress: receipt.tokenAddress },
  }));
  const ids = intents.map(() => deps.ids.next());
  await tx.execute(sql`WITH taken AS (${insertionOfItems(itemsOf(deps, runId, 'PENDING', due))} RETURNING receipt_id)
    ${insertionOfIntents(ids, intents)} WHERE target_id IN (SELECT receipt_id FROM taken)`);
}

/**
 * Takes over the network's state of receipts that were marked expired outside this platform.
 * @param expired locked, and active until now
 * @returns the ids of the receipts
 */
async function adoptExpired(
  tx: Tx,
  deps: SweepNeeds,
  runId: string,
  expired: readonly Noted[],
): Promise<readonly string[]> {
  const ids = expired.map(({ receipt }) => receipt.id);
  if (ids.length === 0) return ids;
  await tx
    .update(receipts)
    .set({ state: 'EXPIRED', expiredAt: deps.clock.now() })
    .where(isOneOf(receipts.id, ids));
  await addItems(tx, itemsOf(deps, runId, 'EXPIRED', expired));
  return ids;
}

function itemsOf(deps: Needs<'clock'>, runId: string, state: ItemState, noted: readonly Noted[]) {
  const decidedAt = state === 'PENDING' ? null : deps.clock.now();
  return noted.map(({ receipt, message }) => ({
    runId,
    receiptId: receipt.id,
    state,
    message,
    decidedAt,
  }));
}

async function addItems(tx: Tx, items: ReturnType<typeof itemsOf>): Promise<void> {
  if (items.length > 0) await tx.execute(insertionOfItems(items));
}

/** Leaves out the items that another instance has added. */
function insertionOfItems(items: ReturnType<typeof itemsOf>): SQL {
  return sql`${insertionOf(expiryItems, items)} ON CONFLICT DO NOTHING`;
}
