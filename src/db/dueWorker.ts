/**
 * The loop behind work that lies in a table until it is due: claim some rows, carry each a step further, sleep
 * until the doorbell rings. Any number of instances may run one over the same table.
 * What a claim is: claimDue.ts.
 */
import type { Doorbell } from './doorbell.ts';
import { messageOf } from '../errors.ts';
import type { Logger } from '../logger.ts';

export interface DueWorker {
  start(): void;
  /** Finishes what is claimed and claims no more. */
  stop(): Promise<void>;
  /** Claims and carries what is due until nothing is. For tests and tools; the loop does the same. */
  drain(): Promise<void>;
}

export interface DueWorkerOptions<Row> {
  /** What the rows are, for the log: "submissions". */
  name: string;
  bell: Pick<Doorbell, 'ring' | 'next'>;
  /** The bell's key for "there is something due". */
  bellKey: string;
  /** Steps under way at once in one instance; each needs a database connection now and then. */
  maxConcurrent: number;
  /** Claims at most `limit` due rows and pushes their due times ahead. */
  claim(limit: number): Promise<Row[]>;
  /** One row's turn. Must put the row back by itself, and not reject. */
  carry(row: Row): Promise<void>;
  /** How long a worker that heard no doorbell waits before it looks by itself; a second by default. */
  idlePollMs?: number;
  log: Pick<Logger, 'error'>;
}

const IDLE_POLL_MS = 1000;

export function createDueWorker<Row>(options: DueWorkerOptions<Row>): DueWorker {
  const { bell, bellKey, maxConcurrent, idlePollMs = IDLE_POLL_MS } = options;
  const underWay = new Set<Promise<void>>();
  /** Claimed, and waiting for a place: claiming one row at a time would cost more than carrying it. */
  let backlog: Row[] = [];
  let running: Promise<void> | null = null;
  let stopping = false;

  function launch(row: Row): void {
    const work = options.carry(row).finally(() => underWay.delete(work));
    underWay.add(work);
  }

  /** Fills the free places; says whether there was anything to do. */
  async function fill(): Promise<boolean> {
    if (underWay.size >= maxConcurrent) return false;
    if (backlog.length === 0) backlog = await options.claim(maxConcurrent);
    const launched = backlog.splice(0, maxConcurrent - underWay.size);
    for (const row of launched) launch(row);
    return launched.length > 0;
  }

  async function loop(): Promise<void> {
    while (!stopping) {
      const rung = bell.next(bellKey, idlePollMs);
      try {
        await fill();
      } catch (error) {
        options.log.error({ error: messageOf(error) }, `claiming ${options.name} failed`);
        await rung;
        continue;
      }
      // Wait for a place, or for work: whichever is missing.
      await Promise.race(underWay.size >= maxConcurrent ? underWay : [rung, ...underWay]);
    }
    await carryBacklog();
  }

  /** What was claimed would otherwise lie until the claim runs out. */
  async function carryBacklog(): Promise<void> {
    while (backlog.length > 0) {
      await Promise.all(underWay);
      for (const row of backlog.splice(0, maxConcurrent)) launch(row);
    }
    await Promise.all(underWay);
  }

  return {
    start() {
      running ??= loop();
    },
    async stop() {
      stopping = true;
      bell.ring(bellKey);
      await running;
    },
    async drain() {
      while ((await fill()) || underWay.size > 0) if (underWay.size > 0) await Promise.race(underWay);
    },
  };
}

/** Exponential, with jitter, so that a service that recovers isn't stormed. */
export function backoffMs(
  fruitlessSteps: number,
  limits: { firstMs: number; longestMs: number; factor?: number },
  random: () => number,
): number {
  const exponent = Math.min(fruitlessSteps, 30);
  return Math.min(limits.firstMs * (limits.factor ?? 2) ** exponent, limits.longestMs) * (0.5 + random() / 2);
}
