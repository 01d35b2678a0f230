/**
 * Metrics from the database: the same on every instance, except for some seconds of delay.
 */
import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { cacheAnswer } from '../lib/cacheAnswer.ts';
import { withTimeout } from '../lib/timeout.ts';
import type { InvariantStatus } from '../resolvers/operations/listInvariants.ts';
import type { OpenWork } from '../resolvers/operations/overdueWork.ts';

export interface StoredMetricsDependencies {
  readOpenWork: () => Promise<OpenWork>;
  listInvariants: () => Promise<readonly InvariantStatus[]>;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
}

/** Scrapers come every fifteen seconds; several of them, and people, share the values of one reading. */
const MAX_AGE_MS = 5_000;
/**
 * Less than the ten seconds after which scrapers give up: without the database, the other metrics are still
 * useful.
 */
const READ_TIMEOUT_MS = 3_000;

const VERDICTS = ['HOLDS', 'BROKEN', 'NOT_PROVED'] as const;

export function createStoredMetrics(
  registers: Registry[],
  { readOpenWork, listInvariants, clock, log }: StoredMetricsDependencies,
): { update(): Promise<void> } {
  /** Cleared before each reading: an old value would look like a present one. */
  const clearing: (() => void)[] = [];
  const gauge: MakeGauge = (name, help, ...labelNames) => {
    const made = new Gauge({ name: `marketplace_${name}`, help, labelNames, registers });
    // A reset of a gauge without labels would leave a zero.
    clearing.push(() => (labelNames.length === 0 ? made.remove() : made.reset()));
    return made;
  };
  const isRead = gauge(
    'database_read',
    '1 when the values from the database are of now, 0 when it did not answer.',
  );
  const showWork = openWorkGauges(gauge);
  const showInvariant = invariantGauges(gauge);
  const update = async () => {
    try {
      const [work, invariants] = await withTimeout(
        READ_TIMEOUT_MS,
        Promise.all([readOpenWork(), listInvariants()]),
      );
      for (const clear of clearing) clear();
      showWork(work);
      invariants.forEach(showInvariant);
      isRead.set(1);
    } catch (error) {
      log.warn({ err: error }, 'the database did not answer for metrics');
      for (const clear of clearing) clear();
      isRead.set(0);
    }
  };
  return { update: cacheAnswer({ maxAgeMs: MAX_AGE_MS, clock, cachesFailures: true }, update) };
}

type MakeGauge = (name: string, help: string, ...labelNames: string[]) => Gauge;

function openWorkGauges(gauge: MakeGauge): (work: OpenWork) => void {
  const submissions = gauge('submissions', 'Submissions that are not decided, by state.', 'state');
  const stuck = gauge('submissions_stuck', 'Submissions that submissions(filter: { stuck: true }) lists.');
  const sessions = gauge('off_ramp_sessions', 'Off-ramp sessions that have not ended, by state.', 'state');
  const overdue = gauge(
    'off_ramp_sessions_overdue',
    'Those that offRampSessions(filter: { overdue: true }) lists.',
  );
  const overdueRuns = gauge(
    'expiry_runs_overdue',
    'Expiry runs that have not got through the due receipts for an hour.',
  );
  const halted = gauge('signing_halted', '1 while signing is halted on every instance.');
  const position = gauge('feed_position', 'The last position of the feed of retirements.');
  const delay = gauge(
    'feed_delay_seconds',
    "How long the newest record was on the network before the feed had it; 0 where the network's clock is ahead.",
  );
  return (work) => {
    for (const [state, count] of Object.entries(work.submissions)) submissions.set({ state }, count);
    for (const [state, count] of Object.entries(work.offRampSessions)) sessions.set({ state }, count);
    stuck.set(work.stuckSubmissions);
    overdue.set(work.overdueSessions);
    overdueRuns.set(work.overdueExpiryRuns);
    halted.set(work.haltedBecause === null ? 0 : 1);
    position.set(work.feedPosition);
    if (work.feedDelaySeconds !== null) delay.set(work.feedDelaySeconds);
  };
}

function invariantGauges(gauge: MakeGauge): (status: InvariantStatus) => void {
  const verdict = gauge(
    'invariant',
    '1 for the last verdict of an invariant, 0 for the others.',
    'invariant',
    'verdict',
  );
  const compared = gauge('invariant_compared_timestamp_seconds', 'When it was compared last.', 'invariant');
  const agreed = gauge('invariant_agreed_timestamp_seconds', 'When everything agreed last.', 'invariant');
  return ({ invariant, verdict: last, comparedAt, agreedAt }) => {
    for (const one of VERDICTS) verdict.set({ invariant, verdict: one }, one === last ? 1 : 0);
    if (comparedAt) compared.set({ invariant }, comparedAt.getTime() / 1000);
    if (agreedAt) agreed.set({ invariant }, agreedAt.getTime() / 1000);
  };
}
