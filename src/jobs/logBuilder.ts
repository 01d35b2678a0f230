/**
 * Appends committed rows to the transparency logs, one to four seconds later. Every instance tries; a log's
 * lock lets one instance at a time build it.
 */
import type { Needs } from '../resolvers/core/dependencies.ts';
import type { LogName } from '../transparency/leaves.ts';

interface LogBuilder {
  start(): void;
  /** Resolves when a step under way has ended. */
  stop(): Promise<void>;
}

/** Time between two polls while there is work; a log is behind by this much. */
const POLL_MS = 1_000;
/** The longest time between two polls of an idle instance. */
const MAX_POLL_MS = 4_000;

export function createLogBuilder({ logs, log }: Needs<'logs' | 'log'>): LogBuilder {
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();
  let isStopped = false;
  let pollMs = POLL_MS;

  async function poll(): Promise<void> {
    try {
      const behind = await logs.findBehind();
      pollMs = behind.length > 0 ? POLL_MS : Math.min(2 * pollMs, MAX_POLL_MS);
      for (const name of behind) await grow(name);
    } catch (error) {
      noteFailure(error);
    }
  }

  /** Never rejects: a damaged log is behind for ever, and must not stop the others. */
  async function grow(name: LogName): Promise<void> {
    try {
      await logs.build(name, () => isStopped);
    } catch (error) {
      noteFailure(error, name);
    }
  }

  function noteFailure(error: unknown, name?: LogName): void {
    log.warn({ log: name, err: error }, 'a transparency log did not grow; trying again');
    pollMs = MAX_POLL_MS;
  }

  async function pollAndSchedule(): Promise<void> {
    await poll();
    if (!isStopped) schedule();
  }

  function schedule(): void {
    timer = setTimeout(() => {
      underWay = pollAndSchedule();
    }, pollMs);
    timer.unref();
  }

  return {
    start: schedule,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await underWay;
    },
  };
}
