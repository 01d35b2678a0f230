/**
 * Schedules the expiry job: at 02:00 of the configured time zone, and at start when the last night has no run
 * yet. Every instance has this schedule; a unique key on a run's night makes it one run. The instance's clock
 * only wakes the job: the night comes from the database's clock, because a fast clock would use up future
 * nights.
 */
import schedule from 'node-schedule';
import { readDatabaseTime } from '../db/databaseTime.ts';
import type { Needs } from '../resolvers/core/dependencies.ts';
import { requestRun, type RequestRunNeeds } from './expiryRuns.ts';
import { localTime } from './localTime.ts';

export const EXPIRY_CRON = '0 2 * * *';
const EXPIRY_HOUR = 2;
/**
 * Time between two polls for a missing run. The night gets its run also when the database is down at 02:00,
 * or when the instance's clock is ahead and wakes the job before 02:00 of the database's clock.
 */
const POLL_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;

interface NightlyExpiry {
  /** Resolves when the last night's run, if missing, is requested, or has failed to be. */
  start(): Promise<void>;
  stop(): void;
}

export function createNightlyExpiry(
  deps: Needs<keyof RequestRunNeeds | 'log'>,
  options: { timeZone: string; readTime?: () => Promise<Date>; pollMs?: number },
): NightlyExpiry {
  const { timeZone, readTime = () => readDatabaseTime(deps.db), pollMs = POLL_MS } = options;
  let job: schedule.Job | null = null;
  let timer: NodeJS.Timeout | null = null;
  /** The last night whose run this instance has requested. */
  let requested: string | null = null;

  async function request(): Promise<void> {
    const night = latestNight(await readTime(), timeZone);
    if (night === requested) return;
    const trigger = requested === null ? 'CATCH_UP' : 'NIGHTLY';
    await requestRun(deps, { trigger, night, requestedBy: null });
    requested = night;
  }

  /** The next poll repeats a request that fails. */
  async function poll(): Promise<void> {
    await request().catch((error: unknown) => {
      deps.log.error({ err: error }, 'the nightly expiry could not be requested');
    });
  }

  return {
    async start() {
      const inBackground = () => void poll();
      job = schedule.scheduleJob({ rule: EXPIRY_CRON, tz: timeZone }, inBackground);
      timer = setInterval(inBackground, pollMs).unref();
      // The server listens by now: a database that is away for a moment must not end it.
      await poll();
    },
    stop() {
      job?.cancel();
      if (timer) clearInterval(timer);
    },
  };
}

/** The date of the latest night whose 02:00 has passed in the time zone, as YYYY-MM-DD. */
export function latestNight(now: Date, timeZone: string): string {
  const { date, hour } = localTime(now, timeZone);
  if (hour >= EXPIRY_HOUR) return date;
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  return new Date(Date.UTC(year, month - 1, day) - DAY_MS).toISOString().slice(0, 10);
}
