/**
 * Runs the reconciliations: of changes every few minutes, of everything once a night. The first instance
 * takes a due run; when that instance dies, the run is due again.
 */
import { sql, type SQL } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { readDatabaseTime } from '../db/databaseTime.ts';
import { reconciliationSchedule } from '../db/tables/index.ts';
import { reconcileAndKeep } from '../reconciliation/lastReconciliation.ts';
import type { Needs } from '../resolvers/core/dependencies.ts';
import { nextTimeOf } from './localTime.ts';

type JobNeeds = Needs<'db' | 'network' | 'feed' | 'ramp' | 'logs' | 'log'>;

interface ReconciliationJob {
  start(): void;
  /** Resolves when the runs under way have ended. */
  stop(): Promise<void>;
  /** Runs the runs that are due. For tests; the timer does the same. */
  poll(): Promise<void>;
}

/** How often an instance asks whether a run is due. */
const POLL_MS = 60_000;
/** Time between two runs that compare changes. */
const EVERY_SECONDS = 300;
/**
 * Rest after a run of changes, in lengths of the run, so that runs take a tenth of the time at most: a run
 * reads every row once for the few that changed, and the log of transfers waits for it.
 */
const REST_SHARE = 10;
/** The longest rest: changes are compared within the hour in any case. */
const MAX_REST_SECONDS = 3_600;
/** A night's run that was not finished, or whose instance died, is due again after this long. */
const FULL_RETRY_SECONDS = 900;
/** How often the instance that runs a reconciliation renews its claim. */
const RENEW_MS = 60_000;
/** Maximum renewals: a run that hangs is due again after a day. */
const MAX_RENEWALS = 24 * 60;
/** The local hour of the full run: an hour after the expiry job, whose changes it compares. */
const FULL_HOUR = 3;

export function createReconciliationJob(
  deps: JobNeeds,
  { timeZone, nowMs = () => performance.now() }: { timeZone: string; nowMs?: () => number },
): ReconciliationJob {
  let timer: NodeJS.Timeout | undefined;
  const polls = new Set<Promise<void>>();
  const underWay = new Set<Due>();

  /** Runs one run of each kind at a time. @returns whether the run was due, and this instance ran it */
  async function runDue(due: Due, againAfterSeconds: number, work: () => Promise<unknown>): Promise<boolean> {
    if (underWay.has(due)) return false;
    underWay.add(due);
    try {
      if (!(await take(deps, due, againAfterSeconds))) return false;
      await work();
      return true;
    } finally {
      underWay.delete(due);
    }
  }

  async function compareEverything(): Promise<void> {
    const { isAnswered } = await keepTaken(deps, 'full_due_at', FULL_RETRY_SECONDS, () => run(deps, true));
    await putOff(deps.db, 'full_due_at', isAnswered ? await nextNight(deps.db, timeZone) : SOON);
  }

  async function compareChanges(): Promise<void> {
    const began = nowMs();
    const { hadStart } = await keepTaken(deps, 'due_at', EVERY_SECONDS, () => run(deps, false));
    // A run without a start says nothing about the length of the next one. If too much has changed, the next
    // run may compare everything, too.
    if (hadStart) await rest(deps.db, ((nowMs() - began) / 1_000) * REST_SHARE);
  }

  /** Changes are compared also during a night's run, which may last hours; one poll never begins both. */
  async function poll(): Promise<void> {
    try {
      if (await runDue('full_due_at', FULL_RETRY_SECONDS, compareEverything)) return;
      await runDue('due_at', EVERY_SECONDS, compareChanges);
    } catch (error) {
      deps.log.warn({ err: error }, 'reconciliation not finished');
    }
  }

  function trackPoll(): Promise<void> {
    const polling = poll().finally(() => polls.delete(polling));
    polls.add(polling);
    return polling;
  }

  return {
    start() {
      timer = setInterval(() => void trackPoll(), POLL_MS);
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(polls);
    },
    poll: trackPoll,
  };
}

/**
 * A run without all answers is due again soon, not tomorrow at an hour when the network may be down again.
 */
const SOON = sql`now() + interval '1 hour'`;

/** The next FULL_HOUR after now; before that hour, it is today's. */
async function nextNight(db: Db, timeZone: string): Promise<SQL> {
  const next = nextTimeOf(FULL_HOUR, await readDatabaseTime(db), timeZone);
  return sql`${next.toISOString()}::timestamptz`;
}

type Due = 'due_at' | 'full_due_at';

async function putOff(db: Db, column: Due, until: SQL): Promise<void> {
  await db.execute(sql`UPDATE ${reconciliationSchedule} SET ${sql.identifier(column)} = ${until}`);
}

async function rest(db: Db, wantedSeconds: number): Promise<void> {
  const seconds = Math.min(wantedSeconds, MAX_REST_SECONDS);
  await putOff(db, 'due_at', sql`greatest(due_at, now() + make_interval(secs => ${seconds}))`);
}

/** @returns whether this instance has taken the run */
async function take({ db }: JobNeeds, column: Due, againAfterSeconds: number) {
  const name = sql.identifier(column);
  // A due time later than any that is set was written before the database's clock was set back.
  const taken = await db.execute(sql`UPDATE ${reconciliationSchedule}
    SET ${name} = now() + make_interval(secs => ${againAfterSeconds})
    WHERE ${name} <= now() OR (${name} > now() + interval '2 days' AND isfinite(${name})) RETURNING 1`);
  return taken.length > 0;
}

/** Keeps other instances from taking the run while it lasts. */
async function keepTaken<T>(
  { db, log }: JobNeeds,
  column: Due,
  againAfterSeconds: number,
  work: () => Promise<T>,
): Promise<T> {
  let renewals = 0;
  let renewing: Promise<unknown> = Promise.resolve();
  const renew = async () => {
    if (renewals++ >= MAX_RENEWALS) return;
    await putOff(db, column, sql`now() + make_interval(secs => ${againAfterSeconds})`).catch(
      (error: unknown) => log.warn({ err: error }, 'the reconciliation under way was not renewed'),
    );
  };
  const timer = setInterval(() => {
    renewing = renewing.then(renew);
  }, RENEW_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    // A renewal after the run's end would put off the next run.
    await renewing;
  }
}

/**
 * @returns whether all comparisons had an answer; and whether an earlier run gave the start of the changes
 */
async function run(deps: JobNeeds, isFull: boolean) {
  const { verdicts, notProved: obstacles, since, hadStart } = await reconcileAndKeep(deps, { isFull });
  const broken = verdicts.filter(({ verdict }) => verdict === 'BROKEN');
  const notProved = verdicts
    .filter(({ verdict }) => verdict === 'NOT_PROVED')
    .map(({ invariant }) => invariant);
  if (broken.length === 0) deps.log.info({ since, notProved }, 'reconciled');
  for (const { invariant, promise, findings } of broken) {
    deps.log.error(
      { invariant, promise, findings: findings.map(({ message }) => message) },
      'an invariant is broken',
    );
  }
  return { isAnswered: obstacles.every(({ obstacle }) => obstacle !== 'NO_ANSWER'), hadStart };
}
