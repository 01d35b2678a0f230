/**
 * Expiry runs as rows: requested by the clock, at start, or by hand; swept by whichever instance is free; and
 * carried on by another one when that instance dies.
 */
import { and, count, desc, eq, inArray, isNull, sql } from 'drizzle-orm';
import { claimDue } from '../db/claimDue.ts';
import { backoffMs, createDueWorker, type DueWorker } from '../db/dueWorker.ts';
import { keyset, type KeysetCursor, type KeysetPage } from '../db/keyset.ts';
import { expiryItems, expiryRuns } from '../db/schema/index.ts';
import { messageOf } from '../errors.ts';
import type { Dependencies } from '../resolvers/dependencies.ts';
import { sweep, SWEEP_CLAIM_SECONDS, type ExpiryRun } from './expireReceipts.ts';

export type { ExpiryRun } from './expireReceipts.ts';

export type ExpiryRequest =
  | { trigger: 'NIGHTLY' | 'CATCH_UP'; night: string; requestedBy: string }
  | { trigger: 'MANUAL'; night: null; requestedBy: string };

/** What a run did, in numbers; `examined` is the sum of the others. */
export interface ExpiryCounts {
  examined: number;
  pending: number;
  expired: number;
  notDue: number;
  failed: number;
}

export interface ExpiryFailure {
  receiptId: string;
  reason: string;
}

/** The subjects doorbell's key for "an expiry run is due". */
const EXPIRY_RUNS = 'expiry-runs';
/** A network that is down at two in the morning is asked again until it answers. */
const BACKOFF = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** Reasons shown of one run; a night with more failures has one cause. */
export const MAX_FAILURES_SHOWN = 100;

/**
 * Writes the run down; the worker of any instance sweeps it.
 * @param heldSeconds how long the caller keeps it to sweep it by itself.
 * @returns null when this night has its run already.
 */
export async function requestRun(
  deps: Dependencies,
  request: ExpiryRequest,
  heldSeconds = 0,
): Promise<ExpiryRun | null> {
  const [run] = await deps.db
    .insert(expiryRuns)
    .values({
      ...request,
      id: deps.ids.next(),
      startedAt: deps.clock.now(),
      dueAt: sql`now() + make_interval(secs => ${heldSeconds})`,
    })
    .onConflictDoNothing()
    .returning();
  if (run && heldSeconds === 0) deps.subjects.ring(EXPIRY_RUNS);
  return run ?? null;
}

export function createExpiryWorker(deps: Dependencies): DueWorker {
  return createDueWorker({
    name: 'expiry runs',
    bell: deps.subjects,
    bellKey: EXPIRY_RUNS,
    // One sweep at a time is fast enough, and leaves the network to those who wait.
    maxConcurrent: 1,
    claim: (limit) =>
      claimDue(deps.db, expiryRuns, {
        condition: isNull(expiryRuns.sweptAt),
        limit,
        claimSeconds: SWEEP_CLAIM_SECONDS,
      }),
    carry: (run) => carry(deps, run),
    log: deps.log,
  });
}

async function carry(deps: Dependencies, run: ExpiryRun): Promise<void> {
  try {
    await sweep(deps, run);
    deps.log.info({ runId: run.id, night: run.night, ...(await countRun(deps, run.id)) }, 'receipts swept');
  } catch (error) {
    const problem = messageOf(error);
    deps.log.warn({ runId: run.id, error: problem }, 'expiry run not finished yet');
    await putBack(deps, run, problem).catch((cause: unknown) => {
      // The claim runs out by itself.
      deps.log.error({ runId: run.id, error: messageOf(cause) }, 'putting back an expiry run failed');
    });
  }
}

async function putBack(deps: Dependencies, run: ExpiryRun, problem: string): Promise<void> {
  const delayMs = backoffMs(run.fruitlessSteps, BACKOFF, deps.submission.random);
  await deps.db
    .update(expiryRuns)
    .set({
      dueAt: sql`now() + make_interval(secs => ${delayMs / 1000})`,
      fruitlessSteps: run.fruitlessSteps + 1,
      problem,
    })
    .where(and(eq(expiryRuns.id, run.id), isNull(expiryRuns.sweptAt)));
}

export async function findRun(deps: Pick<Dependencies, 'db'>, id: string): Promise<ExpiryRun | null> {
  const [run] = await deps.db.select().from(expiryRuns).where(eq(expiryRuns.id, id));
  return run ?? null;
}

const NEWEST_FIRST = {
  column: expiryRuns.startedAt,
  id: expiryRuns.id,
  type: 'timestamptz',
  direction: 'desc',
} as const;

export async function listRuns(
  deps: Pick<Dependencies, 'db'>,
  page: KeysetPage<KeysetCursor>,
): Promise<ExpiryRun[]> {
  const { where, orderBy } = keyset(NEWEST_FIRST, page);
  return deps.db
    .select()
    .from(expiryRuns)
    .where(where)
    .orderBy(...orderBy)
    .limit(page.limit);
}

export function runCursor(run: ExpiryRun): KeysetCursor {
  return { value: run.startedAt.toISOString(), id: run.id };
}

/** The numbers of several runs in one statement. */
export async function countItems(
  deps: Pick<Dependencies, 'db'>,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, ExpiryCounts>> {
  const { runId, state } = expiryItems;
  const rows = await deps.db
    .select({ runId, state, count: count() })
    .from(expiryItems)
    .where(inArray(runId, [...runIds]))
    .groupBy(runId, state);
  return new Map(runIds.map((id) => [id, countsFrom(rows.filter((row) => row.runId === id))]));
}

/** The numbers of one run. */
export async function countRun(deps: Pick<Dependencies, 'db'>, runId: string): Promise<ExpiryCounts> {
  const counts = await countItems(deps, [runId]);
  return counts.get(runId) ?? countsFrom([]);
}

function countsFrom(rows: readonly { state: ExpiryItemState; count: number }[]): ExpiryCounts {
  const of = (state: ExpiryItemState) => rows.find((row) => row.state === state)?.count ?? 0;
  const counts = {
    pending: of('PENDING'),
    expired: of('EXPIRED'),
    notDue: of('NOT_DUE'),
    failed: of('FAILED'),
  };
  return { examined: counts.pending + counts.expired + counts.notDue + counts.failed, ...counts };
}

type ExpiryItemState = (typeof expiryItems.state.enumValues)[number];

/** Which receipts a run could not expire, and why; the latest first, at most MAX_FAILURES_SHOWN. */
export async function listFailures(deps: Pick<Dependencies, 'db'>, runId: string): Promise<ExpiryFailure[]> {
  const rows = await deps.db
    .select({ receiptId: expiryItems.receiptId, reason: expiryItems.reason })
    .from(expiryItems)
    .where(and(eq(expiryItems.runId, runId), eq(expiryItems.state, 'FAILED')))
    .orderBy(desc(expiryItems.decidedAt))
    .limit(MAX_FAILURES_SHOWN);
  return rows.map(({ receiptId, reason }) => ({ receiptId, reason: reason ?? '' }));
}
