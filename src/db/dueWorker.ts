/**
 * The loop for rows that become due: it leases some, takes each one step further, and waits for the change
 * signal. While nothing happens, it only asks when the first row is due. Any number of instances may run a
 * loop over the same table. Leases: leases.ts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ChangeSignal } from './changeSignal.ts';
import type { Leased, Leases } from './leases.ts';
import type { Logger } from '../lib/logger.ts';
import { waitAtMost } from '../lib/timeout.ts';

export interface DueWorker {
  start(): void;
  /** Finishes the steps under way and claims no more. */
  stop(): Promise<void>;
  /** Claims and processes until nothing is due. For tests and tools; the loop does the same. */
  drain(): Promise<void>;
}

interface DueWorkerOptions<Row extends Leased> {
  /** The rows' name in the log, such as "submissions". */
  name: string;
  /** The name of a row's id in the log, such as "submissionId". */
  idField: string;
  changeSignal: Pick<ChangeSignal, 'notify' | 'waitFor'>;
  /** The change signal's key for "something is due". */
  signalKey: string;
  /** Maximum steps under way at once in one instance; each needs a database connection at times. */
  maxConcurrent: number;
  leases: Omit<Leases<Row>, 'claimWhere'>;
  /** Leases rows in another order; by default the longest due come first. */
  claim?: (limit: number) => Promise<Row[]>;
  /**
   * Takes a row one step further, and reschedules it at the end. When it rejects, the row is due again when
   * its lease ends, or at once if it became due meanwhile.
   */
  process(row: Row): Promise<void>;
  /**
   * How long at most the next claim waits for the last claim's steps to end: rows that become due meanwhile
   * go through their steps together, and share their batches. If left out, the next claim is made as soon as
   * CLAIM_INTERVAL_MS allows.
   */
  gatherMs?: number;
  /** Time between two polls of the table without a notification, while something is due or under way. */
  pollMs?: number;
  log: Pick<Logger, 'error'>;
}

/** Due rows that could not be claimed, because of a lock or a limit, are tried again after this long. */
const POLL_MS = 500;
/**
 * The longest wait while the table shows nothing due. Only a row with a lost notification waits this long.
 */
const MAX_IDLE_MS = 4_000;
/** Timeout of a wait for a notification: a wait that ends within MAX_IDLE_MS ended with a notification. */
const LONGER_THAN_IDLE_MS = 2 * MAX_IDLE_MS;
/** Under load, rows due within this time are claimed together. The first after an idle time does not wait. */
const CLAIM_INTERVAL_MS = 20;
/** Time between claims after a step's end without a notification, which seldom leaves anything due. */
const UNNOTIFIED_CLAIM_INTERVAL_MS = 50;

/**
 * Makes the loop that claims due rows and takes each a step further. Two instances may process one row after
 * a pause (leases.ts), so `process` must allow for that.
 */
export function createDueWorker<Row extends Leased>(options: DueWorkerOptions<Row>): DueWorker {
  const { changeSignal, signalKey, maxConcurrent, leases, pollMs = POLL_MS, gatherMs = 0 } = options;
  const { claim = (limit) => leases.claim(limit) } = options;
  const steps = createSteps(options);
  /** Leased rows that wait for a free place: claiming them singly would cost more than processing them. */
  let backlog: Row[] = [];
  let running: Promise<void> | null = null;
  let stopping = false;
  let claimedAtMs = Number.NEGATIVE_INFINITY;

  /** Fills the free places. @returns whether any row was claimed or started */
  async function fill(): Promise<boolean> {
    if (steps.count() >= maxConcurrent) return false;
    if (backlog.length === 0) {
      claimedAtMs = performance.now();
      backlog = await claim(maxConcurrent);
    }
    const next = backlog.splice(0, maxConcurrent - steps.count());
    const held: Row[] = [];
    for (const row of next) {
      if (leases.isHeld(row.id)) held.push(row);
      // After a pause of this process, another instance may hold the row.
      else await leases.release(row.id);
    }
    if (held.length > 0) steps.startAll(held);
    return next.length > 0;
  }

  async function loop(): Promise<void> {
    let mayBeDue = true;
    while (!stopping) {
      const notified = changeSignal.waitFor(signalKey, LONGER_THAN_IDLE_MS);
      const isClaiming = mayBeDue;
      mayBeDue = true;
      try {
        if (isClaiming) await fill();
        // Wait for a free place when all are taken, else for work.
        if (steps.count() >= maxConcurrent) await steps.oneDone();
        else if (backlog.length === 0) {
          const woken = Promise.race([notified, steps.oneDone()]);
          mayBeDue = await awaitWork({ leases, pollMs }, steps.count(), woken, isClaiming);
        }
      } catch (error) {
        options.log.error({ err: error }, `claiming ${options.name} failed`);
        await Promise.race([notified, delay(pollMs)]);
      }
      if (backlog.length > 0 || stopping) continue;
      const gatherRestMs = claimedAtMs + gatherMs - performance.now();
      if (gatherRestMs > 0) await waitAtMost(gatherRestMs, steps.lastDone());
      await untilNextClaim(claimedAtMs, notified);
    }
    // The other instances claim these when their leases end.
    for (const row of backlog.splice(0)) await leases.release(row.id);
    await steps.allDone();
  }

  return {
    start() {
      running ??= loop();
    },
    async stop() {
      stopping = true;
      changeSignal.notify(signalKey);
      await running;
    },
    async drain() {
      while ((await fill()) || steps.count() > 0) if (steps.count() > 0) await steps.anyDone();
    },
  };
}

async function untilNextClaim(claimedAtMs: number, notified: Promise<void>): Promise<void> {
  const restMs = (intervalMs: number) => claimedAtMs + intervalMs - performance.now();
  const unnotifiedMs = restMs(UNNOTIFIED_CLAIM_INTERVAL_MS);
  if (unnotifiedMs > 0) await waitAtMost(unnotifiedMs, notified);
  const leastMs = restMs(CLAIM_INTERVAL_MS);
  if (leastMs > 0) await delay(leastMs);
}

/** Waits for a notification, a step's end or a due time. @returns whether something may be due then */
async function awaitWork(
  { leases, pollMs }: { leases: Pick<Leases<never>, 'firstDueInMs'>; pollMs: number },
  stepsUnderWay: number,
  woken: Promise<void>,
  hasClaimed: boolean,
): Promise<boolean> {
  if (stepsUnderWay > 0) {
    await waitAtMost(pollMs, woken);
    return true;
  }
  const dueInMs = (await leases.firstDueInMs()) ?? Infinity;
  if (dueInMs <= 0) {
    // A lock or a limit kept the due row from the claim.
    if (hasClaimed) await waitAtMost(pollMs, woken);
    return true;
  }
  const isWoken = await waitAtMost(Math.min(dueInMs, MAX_IDLE_MS), woken);
  return isWoken || dueInMs <= MAX_IDLE_MS;
}

function createSteps<Row extends Leased>({ name, idField, leases, process, log }: DueWorkerOptions<Row>) {
  const underWay = new Set<Promise<void>>();
  let noteDone = () => {};
  let lastDone: Promise<unknown> = Promise.resolve();

  function start(row: Row): Promise<void> {
    const work = process(row)
      .catch((error: unknown) => {
        log.error({ [idField]: row.id, err: error }, `rescheduling one of ${name} failed`);
      })
      .then(() => leases.release(row.id))
      .finally(() => {
        underWay.delete(work);
        noteDone();
      });
    underWay.add(work);
    return work;
  }

  return {
    count: () => underWay.size,
    startAll(rows: readonly Row[]): void {
      lastDone = Promise.all(rows.map(start));
    },
    /** Resolves when the steps that were started last have ended. */
    lastDone: () => lastDone,
    /** Resolves when the next step ends, also one that starts later. For one caller at a time. */
    oneDone: () =>
      new Promise<void>((resolve) => {
        noteDone = resolve;
      }),
    anyDone: () => Promise.race(underWay),
    allDone: () => Promise.all(underWay),
  };
}

/**
 * Exponential backoff with jitter, so that instances do not all retry against a recovering service at once.
 */
export function backoffMs(
  fruitlessSteps: number,
  limits: { firstMs: number; longestMs: number; factor?: number },
  random: () => number,
): number {
  const exponent = Math.min(fruitlessSteps, 30);
  return Math.min(limits.firstMs * (limits.factor ?? 2) ** exponent, limits.longestMs) * (0.5 + random() / 2);
}
