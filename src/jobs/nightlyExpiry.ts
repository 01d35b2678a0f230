/**
 * When the expiry job runs: at 02:00 of the configured time zone, and at start for the last night if nobody ran
 * it then. Every instance has this clock; the night's row decides that one run comes of it.
 */
import schedule from 'node-schedule';
import { messageOf } from '../errors.ts';
import type { Dependencies } from '../resolvers/dependencies.ts';
import { requestRun } from './expiryRuns.ts';

export const EXPIRY_CRON = '0 2 * * *';
const EXPIRY_HOUR = 2;
/** A database that is away at two in the morning does not cost the night. */
const RETRY_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;

export interface NightlyExpiry {
  /** Resolves when the last night's run, if it was missed, is requested. */
  start(): Promise<void>;
  stop(): void;
}

export function createNightlyExpiry(deps: Dependencies, options: { timeZone: string }): NightlyExpiry {
  const { timeZone } = options;
  let job: schedule.Job | null = null;
  let retry: NodeJS.Timeout | null = null;

  async function request(trigger: 'NIGHTLY' | 'CATCH_UP'): Promise<void> {
    const night = latestNight(deps.clock.now(), timeZone);
    await requestRun(deps, { trigger, night, requestedBy: 'schedule' });
  }

  function fire(): void {
    request('NIGHTLY').catch((error: unknown) => {
      deps.log.error({ error: messageOf(error) }, 'the nightly expiry could not be requested');
      retry = setTimeout(fire, RETRY_MS);
    });
  }

  return {
    async start() {
      job = schedule.scheduleJob({ rule: EXPIRY_CRON, tz: timeZone }, fire);
      await request('CATCH_UP');
    },
    stop() {
      job?.cancel();
      if (retry) clearTimeout(retry);
    },
  };
}

/** The date of the latest night whose 02:00 has come in the time zone, as YYYY-MM-DD. */
export function latestNight(now: Date, timeZone: string): string {
  const { date, hour } = localTime(now, timeZone);
  if (hour >= EXPIRY_HOUR) return date;
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  return new Date(Date.UTC(year, month - 1, day) - DAY_MS).toISOString().slice(0, 10);
}

function localTime(now: Date, timeZone: string): { date: string; hour: number } {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
  });
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
  const date = `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`;
  return { date, hour: Number(parts.get('hour')) };
}
