/**
 * Runs the reconciliations: of what has changed every few minutes, of everything once a night. Of several instances the
 * first one takes the run; when it dies, the run is due again.
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
  /** Runs what is due. For tests; the timer does the same. */
  look(): Promise<void>;
}

/** How often an instance asks whether a run is due. */
const LOOK_MS = 60_000;
/** Between two runs that compare what has changed. */
const EVERY_SECONDS = 300;
/** A long one is a tenth of the time at most: it reads every row once for the few that changed, and the log of transfers waits for it. */
const REST_SHARE = 10;
/** What changed is compared within the hour nevertheless. */
const MAX_REST_SECONDS = 3_600;
/** A night's run that was not finished, or whose instance died, is due again after this long. */
const FULL_RETRY_SECONDS = 900;
/** How often the instance that runs it puts that off. */
const RENEW_MS = 60_000;
/** A run that hangs is due again at last, after a day. */
const MAX_RENEWALS = 24 * 60;
/** An hour after the expiry job, which makes work for it. */
const FULL_HOUR = 3;

export function createReconciliationJob(
  deps: JobNeeds,
  { timeZone, nowMs = () => performance.now() }: { timeZone: string; nowMs?: () => number },
): ReconciliationJob {
  let timer: NodeJS.Timeout | undefined;
  const looks = new Set<Promise<void>>();
  const underWay = new Set<Due>();

  /** One of each kind at a time. @returns whether it was due, and this instance ran it */
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
    // One without a start says nothing of how long the next one takes. Where too much has changed, the next one may compare everything, too.
    if (hadStart) await rest(deps.db, ((nowMs() - began) / 1_000) * REST_SHARE);
  }

  /** What changed is compared also while a night's run lasts, which may be hours; never begun with it in one look. */
  async function look(): Promise<void> {
    try {
      if (await runDue('full_due_at', FULL_RETRY_SECONDS, compareEverything)) return;
      await runDue('due_at', EVERY_SECONDS, compareChanges);
    } catch (error) {
      deps.log.warn({ err: error }, 'reconciliation not finished');
    }
  }

  function keepLook(): Promise<void> {
    const looking = look().finally(() => looks.delete(looking));
    looks.add(looking);
    return looking;
  }

  return {
    start() {
      timer = setInterval(() => void keepLook(), LOOK_MS);
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(looks);
    },
    look: keepLook,
  };
}

/** What had no answer is asked for again soon, not tomorrow: at the same hour the network may be away again. */
const SOON = sql`now() + interval '1 hour'`;

/** The next FULL_HOUR after now, which between midnight and then is today's. */
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

/** @returns whether this instance is the one that runs it */
async function take({ db }: JobNeeds, column: Due, againAfterSeconds: number) {
  const name = sql.identifier(column);
  // One that is due later than any is put off is of before the database's clock was set back.
  const taken = await db.execute(sql`UPDATE ${reconciliationSchedule}
    SET ${name} = now() + make_interval(secs => ${againAfterSeconds})
    WHERE ${name} <= now() OR (${name} > now() + interval '2 days' AND isfinite(${name})) RETURNING 1`);
  return taken.length > 0;
}

/** Other instances leave the run to this one while it lasts. */
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
    // After the run's end it would put off the next one.
    await renewing;
  }
}

/** @returns whether all that was compared had an answer; and whether an earlier run said from when on to compare changes */
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
