/**
 * Counts open work, and work that should have progressed further by now. Readiness, metrics, the lists'
 * filters and the log use the same definitions.
 */
import { inArray, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { DATABASE_NOW } from '../../db/databaseTime.ts';
import {
  approvalRequests,
  attempts,
  expiryRuns,
  feedHead,
  OPEN_OFF_RAMP_STATES,
  offRampProviderStatuses,
  offRampSessions,
  retirementRecords,
  signingAccounts,
  submissions,
} from '../../db/tables/index.ts';
import { HALT_VERSION } from '../../ledger/submission/halts.ts';
import type { Needs } from '../core/dependencies.ts';
import { logStranded } from './strandedSessions.ts';

/** Ethereum is final after a quarter of an hour: longer waits have another cause. */
const STUCK_MINUTES = 20;
/** Expiries leave most of the slots to other work, so those of one night may wait hours for a signature. */
const EXPIRIES_STUCK_HOURS = 24;
/** A restarting node is back within this time. */
const FAILING_MINUTES = 1;
/** All steps but the payout take minutes, once the signature is due or the quote has expired. */
const OVERDUE_HOURS = 1;
/** A bank needs up to two working days, with a weekend in between. */
const PAYOUT_OVERDUE_HOURS = 96;

export const STUCK_RULE =
  `PENDING submissions that were committed more than ${FAILING_MINUTES} minute ago and whose last step failed ` +
  `or whose transaction the node does not accept, or that were committed more than ${STUCK_MINUTES} minutes ` +
  `ago (expiries: signed more than ${STUCK_MINUTES} minutes or committed more than ${EXPIRIES_STUCK_HOURS} hours ago, ` +
  `since they give way to other work until they are signed) and are signed by custody`;
export const OVERDUE_RULE =
  `AWAITING_PAYOUT for more than ${PAYOUT_OVERDUE_HOURS} hours, CONFIRMING or REFUNDING ` +
  `more than ${OVERDUE_HOURS} hour after the last status of the provider, or in a state before the payout ` +
  `more than ${OVERDUE_HOURS} hour after the signature was due or the quote expired`;

const stuckBefore = sql`(now() - make_interval(mins => ${STUCK_MINUTES}))`;
const isSignedAndLate = sql`EXISTS (SELECT FROM ${attempts} WHERE ${attempts.submissionId} = ${submissions.id}
  AND ${attempts.state} = 'OPEN' AND ${attempts.createdAt} < ${stuckBefore})`;

/**
 * A holder's transaction may stay pending indefinitely: only the holder can raise its fee. A failing step is
 * the platform's own problem. An expiry that is signed gives way to nothing any more, and keeps later calls of
 * its account from landing.
 */
export const whereStuck = sql`(${submissions.state} = 'PENDING'
  AND (${submissions.signer} = 'CUSTODY' AND ${submissions.createdAt} < ${stuckBefore}
      AND (${submissions.kind} <> 'markExpired' OR ${isSignedAndLate}
        OR ${submissions.createdAt} < now() - make_interval(hours => ${EXPIRIES_STUCK_HOURS}))
    OR ${submissions.stateReason} IS NOT NULL AND ${submissions.createdAt} < now() - make_interval(mins => ${FAILING_MINUTES})))`;

/** A run takes seconds; a node that was down is asked again within minutes. */
export const OVERDUE_RUN_RULE = `runs that began more than ${OVERDUE_HOURS} hour ago and have not handled all due receipts`;

const anHourAgo = sql`now() - make_interval(hours => ${OVERDUE_HOURS})`;

export const whereOverdue = sql`(
  ${offRampSessions.state} IN ('OPENING', 'AWAITING_SIGNATURE', 'DEPOSITING', 'CLOSING')
    AND coalesce(${offRampSessions.signatureDueAt}, ${offRampSessions.quoteExpiresAt}) < ${anHourAgo}
  OR ${offRampSessions.state} = 'AWAITING_PAYOUT'
    AND ${offRampSessions.depositedAt} < now() - make_interval(hours => ${PAYOUT_OVERDUE_HOURS})
  OR ${offRampSessions.state} IN ('CONFIRMING', 'REFUNDING') AND ${offRampSessions.depositedAt} < ${anHourAgo}
    AND NOT EXISTS (SELECT 1 FROM ${offRampProviderStatuses}
      WHERE ${offRampProviderStatuses.offRampSessionId} = ${offRampSessions.id}
        AND ${offRampProviderStatuses.observedAt} >= ${anHourAgo}))`;

export interface OpenWork {
  /** Number of submissions in each open state. */
  submissions: Readonly<Record<'PENDING' | 'NEEDS_REVIEW', number>>;
  stuckSubmissions: number;
  /** When the oldest stuck submission was committed. */
  stuckSince: Date | null;
  offRampSessions: Readonly<Record<(typeof OPEN_OFF_RAMP_STATES)[number], number>>;
  overdueSessions: number;
  /** When the oldest overdue session was requested. */
  overdueSince: Date | null;
  /** Expiry runs that do not finish. */
  overdueExpiryRuns: number;
  /** When the oldest overdue run began. */
  expiryOverdueSince: Date | null;
  /** Requests for approval that are neither decided nor expired. */
  awaitingApprovals: number;
  /** The reasons of all accounts, which an operator's decision ends together. Null while signing works. */
  haltedBecause: string | null;
  haltVersion: string | null;
  /** The last position of the feed. */
  feedPosition: number;
  /** How long the newest record was on the network before the feed had it. */
  feedDelaySeconds: number | null;
}

type Since = 'stuckSince' | 'overdueSince' | 'expiryOverdueSince';

/**
 * The row of the statement: columns have the names of the members that they fill; times and 64-bit integers
 * are text.
 */
type Row = Omit<OpenWork, 'submissions' | 'offRampSessions' | 'feedPosition' | Since> &
  Record<Since | 'feedPosition', string | null> &
  OpenWork['submissions'] & { sessions: Readonly<Record<string, number>> | null };

/**
 * Reads everything in one statement along indexes of open rows: it takes time for open work, not for history.
 */
export async function readOpenWork(db: Pick<Db, 'execute'>): Promise<OpenWork> {
  const [row] = await db.execute<Row>(sql`
    WITH open_submissions AS (
      SELECT count(*)::integer AS "PENDING", count(*) FILTER (WHERE ${whereStuck})::integer AS "stuckSubmissions",
        min(${submissions.createdAt}) FILTER (WHERE ${whereStuck}) AS "stuckSince"
      FROM ${submissions} WHERE ${submissions.state} = 'PENDING'),
    open_sessions AS (
      SELECT ${offRampSessions.state} AS state, count(*)::integer AS sessions,
        count(*) FILTER (WHERE ${whereOverdue})::integer AS overdue,
        min(${offRampSessions.createdAt}) FILTER (WHERE ${whereOverdue}) AS overdue_since
      FROM ${offRampSessions} WHERE ${inArray(offRampSessions.state, [...OPEN_OFF_RAMP_STATES])} GROUP BY ${offRampSessions.state}),
    overdue_runs AS (
      SELECT count(*)::integer AS "overdueExpiryRuns", min(${expiryRuns.startedAt}) AS "expiryOverdueSince"
      FROM ${expiryRuns} WHERE ${expiryRuns.sweptAt} IS NULL AND ${expiryRuns.startedAt} < ${anHourAgo})
    SELECT open_submissions.*, overdue_runs.*,
      (SELECT count(*)::integer FROM ${submissions} WHERE ${submissions.state} = 'NEEDS_REVIEW') AS "NEEDS_REVIEW",
      (SELECT json_object_agg(state, sessions) FROM open_sessions) AS sessions,
      (SELECT coalesce(sum(overdue), 0)::integer FROM open_sessions) AS "overdueSessions",
      (SELECT min(overdue_since) FROM open_sessions) AS "overdueSince",
      (SELECT count(*)::integer FROM ${approvalRequests} WHERE ${approvalRequests.state} = 'AWAITING'
        AND ${approvalRequests.expiresAt} > ${DATABASE_NOW}) AS "awaitingApprovals",
      (SELECT string_agg(DISTINCT ${signingAccounts.haltedBecause}, '; ') FROM ${signingAccounts}) AS "haltedBecause",
      ${HALT_VERSION} AS "haltVersion",
      (SELECT ${feedHead.position} FROM ${feedHead}) AS "feedPosition",
      (SELECT greatest(0, extract(epoch FROM ${retirementRecords.appendedAt})::float8 - ${retirementRecords.timestamp})
        FROM ${retirementRecords} ORDER BY ${retirementRecords.position} DESC LIMIT 1) AS "feedDelaySeconds"
    FROM open_submissions, overdue_runs`);
  if (row === undefined) throw new Error('a count has no row');
  return openWorkOf(row);
}

function openWorkOf({ PENDING, NEEDS_REVIEW, sessions, ...row }: Row): OpenWork {
  const momentOf = (text: string | null) => (text === null ? null : new Date(text));
  const ofSessions = OPEN_OFF_RAMP_STATES.map((state) => [state, sessions?.[state] ?? 0]);
  return {
    ...row,
    submissions: { PENDING, NEEDS_REVIEW },
    stuckSince: momentOf(row.stuckSince),
    offRampSessions: Object.fromEntries(ofSessions) as OpenWork['offRampSessions'],
    overdueSince: momentOf(row.overdueSince),
    expiryOverdueSince: momentOf(row.expiryOverdueSince),
    feedPosition: Number(row.feedPosition ?? 0),
  };
}

/** Interval of reminders to operators. */
const POLL_INTERVAL_MS = 10 * 60_000;

/** Logs overdue work and stranded sessions at start and regularly, one line for each kind. */
export function createOverdueWatch(deps: Needs<'db' | 'ramp' | 'log'>): {
  start(): Promise<void>;
  stop(): void;
  /** For tests; the timer does the same. */
  poll(): Promise<void>;
} {
  const { db, log } = deps;
  let timer: NodeJS.Timeout | null = null;
  const poll = async () => {
    try {
      const { haltedBecause, ...work } = await readOpenWork(db);
      if (haltedBecause !== null) log.error({ haltedBecause }, 'signing is halted: see docs/operations.md');
      if (work.stuckSubmissions > 0) {
        log.error(
          { submissions: work.stuckSubmissions, since: work.stuckSince },
          'submissions are stuck: submissions(filter: { stuck: true }) says why',
        );
      }
      if (work.overdueSessions > 0) {
        log.error(
          { sessions: work.overdueSessions, since: work.overdueSince },
          'off-ramp sessions are overdue: see offRampSessions(filter: { overdue: true })',
        );
      }
      if (work.overdueExpiryRuns > 0) {
        log.error(
          { runs: work.overdueExpiryRuns, since: work.expiryOverdueSince },
          'receipts do not expire: expiryRuns(first: 5) says why',
        );
      }
      await logStranded(deps);
    } catch (error) {
      log.warn({ err: error }, 'overdue work could not be counted');
    }
  };
  return {
    async start() {
      timer = setInterval(() => void poll(), POLL_INTERVAL_MS).unref();
      await poll();
    },
    stop() {
      if (timer) clearInterval(timer);
    },
    poll,
  };
}
