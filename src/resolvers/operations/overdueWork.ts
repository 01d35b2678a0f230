/**
 * Work that is open, and work that should have got further by now: what readiness, metrics, the lists' filters and the log
 * show operators. One definition serves them all.
 */
import { inArray, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { DATABASE_NOW } from '../../db/databaseTime.ts';
import {
  approvalRequests,
  expiryRuns,
  feedHead,
  OPEN_OFF_RAMP_STATES,
  offRampProviderStatuses,
  offRampSessions,
  retirementRecords,
  signingAccounts,
  submissions,
} from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import { logStranded } from './strandedSessions.ts';

/** Ethereum is final after a quarter of an hour: longer waits have another cause. */
const STUCK_MINUTES = 20;
/** A node that restarts is back by then. */
const FAILING_MINUTES = 1;
/** All steps but the payout take minutes, once the signature is due or the quote has expired. */
const OVERDUE_HOURS = 1;
/** A bank needs up to two working days, with a weekend in between. */
const PAYOUT_OVERDUE_HOURS = 96;

export const STUCK_RULE =
  `PENDING, and committed more than ${FAILING_MINUTES} minute ago while its last step failed or the node does not take its ` +
  `transaction, or more than ${STUCK_MINUTES} minutes ago and signed by custody`;
export const OVERDUE_RULE =
  `AWAITING_PAYOUT for more than ${PAYOUT_OVERDUE_HOURS} hours; CONFIRMING or REFUNDING more than ${OVERDUE_HOURS} hour after the ` +
  `last status of the provider; or in a state before the payout, more than ${OVERDUE_HOURS} hour after its signature was due, or ` +
  'its quote expired';

/** A holder's transaction may wait for ever: only the holder can raise its fee. A step that fails is the platform's own trouble. */
export const whereStuck = sql`(${submissions.state} = 'PENDING'
  AND (${submissions.signer} = 'CUSTODY' AND ${submissions.createdAt} < now() - make_interval(mins => ${STUCK_MINUTES})
    OR ${submissions.stateReason} IS NOT NULL AND ${submissions.createdAt} < now() - make_interval(mins => ${FAILING_MINUTES})))`;

/** A run takes seconds; a node that was down is asked again within minutes. */
export const OVERDUE_RUN_RULE = `begun more than ${OVERDUE_HOURS} hour ago, and not through the receipts that are due`;

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
  /** How many there are in each open state. */
  submissions: Readonly<Record<'PENDING' | 'NEEDS_REVIEW', number>>;
  stuckSubmissions: number;
  /** When the oldest that is stuck was committed. */
  stuckSince: Date | null;
  offRampSessions: Readonly<Record<(typeof OPEN_OFF_RAMP_STATES)[number], number>>;
  overdueSessions: number;
  /** When the oldest that is overdue was requested. */
  overdueSince: Date | null;
  /** Runs of the expiry that do not get through. */
  overdueExpiryRuns: number;
  /** When the oldest of them began. */
  expiryOverdueSince: Date | null;
  /** Requests for approval that are neither decided nor expired. */
  awaitingApprovals: number;
  /** Null while signing works. */
  haltedBecause: string | null;
  /** The last position of the feed. */
  feedPosition: number;
  /** How long the newest record was on the network before the feed had it. */
  feedDelaySeconds: number | null;
}

type Row = {
  pending: number;
  review: number;
  stuck: number;
  stuck_since: string | null;
  sessions: Readonly<Record<string, number>> | null;
  overdue: number;
  overdue_since: string | null;
  overdue_runs: number;
  runs_overdue_since: string | null;
  awaiting_approvals: number;
  halted_because: string | null;
  feed_position: string | null;
  feed_delay_seconds: number | null;
};

/** One statement, along indexes of what is open: it takes as long as there is open work, not history. */
export async function readOpenWork(db: Pick<Db, 'execute'>): Promise<OpenWork> {
  const [row] = await db.execute<Row>(sql`
    WITH open_submissions AS (
      SELECT count(*)::integer AS pending, count(*) FILTER (WHERE ${whereStuck})::integer AS stuck,
        min(${submissions.createdAt}) FILTER (WHERE ${whereStuck}) AS stuck_since
      FROM ${submissions} WHERE ${submissions.state} = 'PENDING'),
    open_sessions AS (
      SELECT ${offRampSessions.state} AS state, count(*)::integer AS sessions,
        count(*) FILTER (WHERE ${whereOverdue})::integer AS overdue,
        min(${offRampSessions.createdAt}) FILTER (WHERE ${whereOverdue}) AS overdue_since
      FROM ${offRampSessions} WHERE ${inArray(offRampSessions.state, [...OPEN_OFF_RAMP_STATES])} GROUP BY ${offRampSessions.state}),
    overdue_runs AS (
      SELECT count(*)::integer AS overdue_runs, min(${expiryRuns.startedAt}) AS runs_overdue_since
      FROM ${expiryRuns} WHERE ${expiryRuns.sweptAt} IS NULL AND ${expiryRuns.startedAt} < ${anHourAgo})
    SELECT open_submissions.*, overdue_runs.*,
      (SELECT count(*)::integer FROM ${submissions} WHERE ${submissions.state} = 'NEEDS_REVIEW') AS review,
      (SELECT json_object_agg(state, sessions) FROM open_sessions) AS sessions,
      (SELECT coalesce(sum(overdue), 0)::integer FROM open_sessions) AS overdue,
      (SELECT min(overdue_since) FROM open_sessions) AS overdue_since,
      (SELECT count(*)::integer FROM ${approvalRequests} WHERE ${approvalRequests.state} = 'AWAITING'
        AND ${approvalRequests.expiresAt} > ${DATABASE_NOW}) AS awaiting_approvals,
      (SELECT ${signingAccounts.haltedBecause} FROM ${signingAccounts} WHERE ${signingAccounts.haltedBecause} IS NOT NULL
        ORDER BY ${signingAccounts.address} LIMIT 1) AS halted_because,
      (SELECT ${feedHead.position} FROM ${feedHead}) AS feed_position,
      (SELECT greatest(0, extract(epoch FROM ${retirementRecords.appendedAt})::float8 - ${retirementRecords.timestamp})
        FROM ${retirementRecords} ORDER BY ${retirementRecords.position} DESC LIMIT 1) AS feed_delay_seconds
    FROM open_submissions, overdue_runs`);
  if (row === undefined) throw new Error('a count has no row');
  return openWorkOf(row);
}

function openWorkOf(row: Row): OpenWork {
  const momentOf = (text: string | null) => (text === null ? null : new Date(text));
  const sessions = OPEN_OFF_RAMP_STATES.map((state) => [state, row.sessions?.[state] ?? 0]);
  return {
    submissions: { PENDING: row.pending, NEEDS_REVIEW: row.review },
    stuckSubmissions: row.stuck,
    stuckSince: momentOf(row.stuck_since),
    offRampSessions: Object.fromEntries(sessions) as OpenWork['offRampSessions'],
    overdueSessions: row.overdue,
    overdueSince: momentOf(row.overdue_since),
    overdueExpiryRuns: row.overdue_runs,
    expiryOverdueSince: momentOf(row.runs_overdue_since),
    awaitingApprovals: row.awaiting_approvals,
    haltedBecause: row.halted_because,
    feedPosition: Number(row.feed_position ?? 0),
    feedDelaySeconds: row.feed_delay_seconds,
  };
}

/** Operators are reminded as often as this. */
const LOOK_INTERVAL_MS = 10 * 60_000;

/** Logs overdue work and stranded sessions at start and regularly: a line for each kind, however much there is. */
export function createOverdueWatch(deps: Needs<'db' | 'ramp' | 'log'>): {
  start(): Promise<void>;
  stop(): void;
  /** For tests; the timer does the same. */
  look(): Promise<void>;
} {
  const { db, log } = deps;
  let timer: NodeJS.Timeout | null = null;
  const look = async () => {
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
      timer = setInterval(() => void look(), LOOK_INTERVAL_MS).unref();
      await look();
    },
    stop() {
      if (timer) clearInterval(timer);
    },
    look,
  };
}
