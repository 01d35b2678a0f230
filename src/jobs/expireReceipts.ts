/**
 * One run of the expiry job: every receipt whose time has come, by the network's clock, is marked expired.
 *
 *   due receipts (database index, a page at a time) ─▶ isExpired? (one read for the page)
 *      ─▶ item PENDING + markExpired intent (one transaction a receipt) ─▶ decided by expiryEffects.ts
 *
 * Whoever inserts a receipt's PENDING item has it: a second instance or run leaves it. A run that is cut off is
 * swept again, by any instance; what it has an item for already is passed over.
 */
import { and, asc, eq, inArray, lt, sql, type SQL } from 'drizzle-orm';
import { expiryItems, expiryRuns, receipts, submissions } from '../db/schema/index.ts';
import { messageOf } from '../errors.ts';
import { MAX_TOKENS_PER_READ, type ExpiryAnswer } from '../ledger/network/port.ts';
import { enqueueSubmission } from '../ledger/submission/enqueue.ts';
import { NEW_SUBMISSION } from '../ledger/submission/submission.ts';
import type { Dependencies } from '../resolvers/dependencies.ts';
import { finishIfComplete } from './expiryEffects.ts';

export type ExpiryRun = typeof expiryRuns.$inferSelect;

/** A receipt that the database says is due. */
interface DueReceipt {
  id: string;
  tokenAddress: string;
  expiryDate: bigint;
}

type ItemState = (typeof expiryItems.state.enumValues)[number];

/** A sweep that stands still for so long was cut off. */
export const SWEEP_CLAIM_SECONDS = 120;

/**
 * Examines every due receipt once and writes the intents; they are carried out by submission.
 * @throws NetworkUnavailable: nothing is known, sweep again later.
 */
export async function sweep(
  deps: Dependencies,
  run: Pick<ExpiryRun, 'id'>,
  onProgress: (examined: number) => void = () => {},
): Promise<void> {
  const { closedAt } = await deps.network.status();
  const notYetExamined = sql`NOT EXISTS (SELECT 1 FROM ${expiryItems} i
    WHERE i.run_id = ${run.id} AND i.receipt_id = ${receipts.id})`;
  let examined = 0;
  for await (const page of duePages(deps, closedAt, notYetExamined)) {
    const answers = await ask(deps, page);
    for (const receipt of page) {
      await examine(deps, run.id, receipt, answers.get(receipt.tokenAddress));
      examined += 1;
      onProgress(examined);
    }
    deps.subjects.ring(NEW_SUBMISSION);
    await keepClaim(deps, run.id);
  }
  await deps.db.transaction(async (tx) => {
    const sweptAt = deps.clock.now();
    await tx
      .update(expiryRuns)
      .set({ sweptAt, dueAt: null, problem: null })
      .where(and(eq(expiryRuns.id, run.id), sql`${expiryRuns.sweptAt} IS NULL`));
    await finishIfComplete(tx, run.id, sweptAt);
  });
}

/** What a run would do, without doing it: the due receipts and what the network says of them. */
export async function* previewExpiry(
  deps: Pick<Dependencies, 'db' | 'network'>,
): AsyncGenerator<{ receipt: DueReceipt; answer: ExpiryAnswer | undefined }> {
  const { closedAt } = await deps.network.status();
  for await (const page of duePages(deps, closedAt)) {
    const answers = await ask(deps, page);
    for (const receipt of page) yield { receipt, answer: answers.get(receipt.tokenAddress) };
  }
}

/** One read of the network for the page. */
async function ask(deps: Pick<Dependencies, 'network'>, page: readonly DueReceipt[]) {
  const answers = await deps.network.expiryOf(page.map(({ tokenAddress }) => tokenAddress));
  return new Map(answers.map((answer) => [answer.tokenAddress, answer]));
}

/** Oldest first, straight from the index of active receipts by expiry date. */
async function* duePages(
  deps: Pick<Dependencies, 'db'>,
  closedAt: bigint,
  condition?: SQL,
): AsyncGenerator<DueReceipt[]> {
  let last: DueReceipt | undefined;
  do {
    const page: DueReceipt[] = await deps.db
      .select({
        id: receipts.id,
        tokenAddress: sql<string>`${receipts.tokenAddress}`,
        expiryDate: receipts.expiryDate,
      })
      .from(receipts)
      .where(
        and(
          // As the partial index has it, so that the planner sees that they are the same.
          sql`${receipts.state} = 'ACTIVE'`,
          lt(receipts.expiryDate, closedAt),
          last && sql`(${receipts.expiryDate}, ${receipts.id}) > (${last.expiryDate}, ${last.id}::uuid)`,
          condition,
        ),
      )
      .orderBy(asc(receipts.expiryDate), asc(receipts.id))
      .limit(MAX_TOKENS_PER_READ);
    if (page.length > 0) yield page;
    last = page.length === MAX_TOKENS_PER_READ ? page.at(-1) : undefined;
  } while (last);
}

/** One receipt's turn; whatever is wrong with it stays its own affair. */
async function examine(
  deps: Dependencies,
  runId: string,
  receipt: DueReceipt,
  answer: ExpiryAnswer | undefined,
): Promise<void> {
  try {
    const underWay = await findUnderWay(deps, receipt);
    if (underWay === 'NEEDS_REVIEW') {
      await note(deps, runId, receipt, 'FAILED', 'its earlier markExpired waits for an operator');
    } else if (underWay === 'PENDING') {
      // An earlier run asked, or another instance just now; that one's item tells how it ends.
    } else if (!answer || 'error' in answer) {
      await note(deps, runId, receipt, 'FAILED', answer?.error.message ?? 'the network gave no answer');
    } else if (answer.status === 'EXPIRED') await adoptExpired(deps, runId, receipt);
    else if (!answer.isExpired) await note(deps, runId, receipt, 'NOT_DUE', null);
    else await askToMark(deps, runId, receipt);
  } catch (error) {
    deps.log.warn({ receiptId: receipt.id, error: messageOf(error) }, 'receipt not expired');
    await note(deps, runId, receipt, 'FAILED', messageOf(error));
  }
}

/** The receipt's markExpired that is not decided yet. */
async function findUnderWay(deps: Dependencies, receipt: DueReceipt) {
  const [submission] = await deps.db
    .select({ state: submissions.state })
    .from(submissions)
    .where(
      and(
        eq(submissions.subjectId, receipt.id),
        eq(submissions.kind, 'markExpired'),
        inArray(submissions.state, ['PENDING', 'NEEDS_REVIEW']),
      ),
    );
  return submission?.state ?? null;
}

async function askToMark(deps: Dependencies, runId: string, receipt: DueReceipt): Promise<void> {
  const examinedAt = deps.clock.now();
  await deps.db.transaction(async (tx) => {
    const [taken] = await tx
      .insert(expiryItems)
      .values({ runId, receiptId: receipt.id, state: 'PENDING', examinedAt })
      .onConflictDoNothing()
      .returning({ receiptId: expiryItems.receiptId });
    if (!taken) return;
    await enqueueSubmission(tx, deps, {
      subjectId: receipt.id,
      call: { kind: 'markExpired', tokenAddress: receipt.tokenAddress },
    });
  });
}

/** Somebody else marked it: the network's word counts. */
async function adoptExpired(deps: Dependencies, runId: string, receipt: DueReceipt): Promise<void> {
  const at = deps.clock.now();
  await deps.db.transaction(async (tx) => {
    const expired = await tx
      .update(receipts)
      .set({ state: 'EXPIRED', expiredAt: at })
      .where(and(eq(receipts.id, receipt.id), eq(receipts.state, 'ACTIVE')))
      .returning({ id: receipts.id });
    if (expired.length === 0) return;
    await tx
      .insert(expiryItems)
      .values({ runId, receiptId: receipt.id, state: 'EXPIRED', examinedAt: at, decidedAt: at })
      .onConflictDoNothing();
  });
}

async function note(
  deps: Dependencies,
  runId: string,
  receipt: DueReceipt,
  state: Exclude<ItemState, 'PENDING'>,
  reason: string | null,
): Promise<void> {
  const at = deps.clock.now();
  await deps.db
    .insert(expiryItems)
    .values({ runId, receiptId: receipt.id, state, reason, examinedAt: at, decidedAt: at })
    .onConflictDoNothing();
}

async function keepClaim(deps: Dependencies, runId: string): Promise<void> {
  await deps.db
    .update(expiryRuns)
    .set({ dueAt: sql`now() + make_interval(secs => ${SWEEP_CLAIM_SECONDS})` })
    .where(and(eq(expiryRuns.id, runId), sql`${expiryRuns.sweptAt} IS NULL`));
}
