/**
 * Expiry runs as rows: requested by the schedule, at start or by hand, swept by any free instance, and
 * continued by another one when that instance dies.
 */
import { count, desc, inArray, isNull, sql } from 'drizzle-orm';
import { backoffMs, createDueWorker, type DueWorker } from '../db/dueWorker.ts';
import { createLeases, reschedule } from '../db/leases.ts';
import { TRANSACTION_TIME } from '../db/databaseTime.ts';
import { finderOf } from '../db/findByIds.ts';
import { listerOf } from '../db/keyset.ts';
import { isAmongLatest } from '../db/manyRows.ts';
import { expiryItems, expiryRuns } from '../db/tables/index.ts';
import { groupBy } from '../lib/groupBy.ts';
import { innermostMessage } from '../lib/errors.ts';
import { NetworkUnavailable } from '../ledger/network/port.ts';
import type { Needs } from '../resolvers/core/dependencies.ts';
import { sweep, type ExpiryRun, type SweepNeeds } from './expireReceipts.ts';

export type { ExpiryRun } from './expireReceipts.ts';

export type RequestRunNeeds = Needs<'db' | 'ids' | 'stateSignal'>;
type ExpiryWorkerNeeds = Needs<keyof SweepNeeds | 'submission'>;

type ExpiryRequest =
  | { trigger: 'NIGHTLY' | 'CATCH_UP'; night: string; requestedBy: null }
  | { trigger: 'MANUAL'; night: null; requestedBy: string };

/** A run's counts; `examined` is the sum of the others. */
export interface ExpiryCounts {
  examined: number;
  pending: number;
  expired: number;
  notDue: number;
  failed: number;
}

export interface ExpiryFailure {
  receiptId: string;
  message: string;
}

/** Key in the state signal for "an expiry run is due". */
const EXPIRY_RUNS = 'expiry-runs';
/** A network that is down at 02:00 is asked again until it answers. */
const BACKOFF = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** Maximum failures shown per run: a night with more failures has one cause. */
const MAX_FAILURES_SHOWN = 100;

/** Records a run; the worker of any instance sweeps it. @returns null when this night has its run already */
export async function requestRun(deps: RequestRunNeeds, request: ExpiryRequest): Promise<ExpiryRun | null> {
  const [run] = await deps.db
    .insert(expiryRuns)
    .values({
      ...request,
      id: deps.ids.next(),
      startedAt: TRANSACTION_TIME,
      dueAt: sql`now()`,
    })
    .onConflictDoNothing()
    .returning();
  if (run) deps.stateSignal.notify(EXPIRY_RUNS);
  return run ?? null;
}

export function createExpiryWorker(deps: ExpiryWorkerNeeds): DueWorker {
  const leases = createLeases(deps.db, expiryRuns, {
    isOpen: isNull(expiryRuns.sweptAt),
    isMisdated: sql`${expiryRuns.dueAt} > now() + make_interval(secs => ${(2 * BACKOFF.longestMs) / 1000})`,
    onError: (error) => deps.log.error({ err: error }, 'renewing or ending leases of expiry runs failed'),
  });
  return createDueWorker({
    name: 'expiry runs',
    idField: 'expiryRunId',
    changeSignal: deps.stateSignal,
    signalKey: EXPIRY_RUNS,
    // One sweep at a time is fast enough, and leaves the network to requests with waiting clients.
    maxConcurrent: 1,
    leases,
    process: (run) => processRun(deps, run),
    log: deps.log,
  });
}

async function processRun(deps: ExpiryWorkerNeeds, run: ExpiryRun): Promise<void> {
  try {
    await sweep(deps, run);
    deps.log.info(
      { expiryRunId: run.id, night: run.night, ...(await countRun(deps, run.id)) },
      'receipts swept',
    );
  } catch (error) {
    deps.log.warn({ expiryRunId: run.id, err: error }, 'expiry run not finished yet');
    const problem = error instanceof NetworkUnavailable ? error.message : innermostMessage(error);
    await reschedule(
      deps.db,
      expiryRuns,
      { id: run.id, isOpen: isNull(expiryRuns.sweptAt) },
      {
        delayMs: backoffMs(run.fruitlessSteps, BACKOFF, deps.submission.random),
        values: { fruitlessSteps: run.fruitlessSteps + 1, problem },
      },
    );
  }
}

export const findRun = finderOf(expiryRuns);

export const listRuns = listerOf(expiryRuns, 'startedAt', {});

/** Counts of several runs in one statement. */
export async function countItems(
  deps: Needs<'db'>,
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

export async function countRun(deps: Needs<'db'>, runId: string): Promise<ExpiryCounts> {
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

/** Receipts that each run could not expire, and why; latest first, at most MAX_FAILURES_SHOWN of a run. */
export async function listFailures(
  deps: Needs<'db'>,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, ExpiryFailure[]>> {
  const { runId, receiptId, message, decidedAt, state } = expiryItems;
  // The state is no parameter, so that the planner may take the index of failed items.
  const shown = { which: sql`${state} = 'FAILED'`, latest: [decidedAt], limit: MAX_FAILURES_SHOWN };
  const rows = await deps.db
    // A database rule requires the message of a failed item.
    .select({ runId, receiptId, message: sql<string>`${message}` })
    .from(expiryItems)
    .where(isAmongLatest(runId, runIds, shown))
    .orderBy(desc(decidedAt));
  return groupBy(rows, (row) => row.runId);
}
