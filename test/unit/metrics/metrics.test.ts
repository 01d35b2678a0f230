/**
 * The values of the metrics, also while the database does not answer.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { OPEN_OFF_RAMP_STATES } from '../../../src/db/tables/index.ts';
import { createMetrics, type Metrics } from '../../../src/metrics/metrics.ts';
import type { InvariantStatus } from '../../../src/resolvers/operations/listInvariants.ts';
import type { OpenWork } from '../../../src/resolvers/operations/overdueWork.ts';
import { silentLog } from '../../../devnet/platform.ts';

const WORK: OpenWork = {
  submissions: { PENDING: 1, NEEDS_REVIEW: 2 },
  stuckSubmissions: 3,
  stuckSince: null,
  offRampSessions: Object.fromEntries(
    OPEN_OFF_RAMP_STATES.map((state, place) => [state, 50 + place]),
  ) as OpenWork['offRampSessions'],
  overdueSessions: 12,
  overdueSince: null,
  overdueExpiryRuns: 13,
  expiryOverdueSince: null,
  awaitingApprovals: 14,
  haltedBecause: 'an unknown sequence',
  haltVersion: '1',
  feedPosition: 15,
  feedDelaySeconds: 16,
};
const OF_WORK = {
  'submissions{state="PENDING"}': 1,
  'submissions{state="NEEDS_REVIEW"}': 2,
  submissions_stuck: 3,
  ...Object.fromEntries(
    Object.entries(WORK.offRampSessions).map(([state, count]) => [
      `off_ramp_sessions{state="${state}"}`,
      count,
    ]),
  ),
  off_ramp_sessions_overdue: 12,
  expiry_runs_overdue: 13,
  signing_halted: 1,
  feed_position: 15,
  feed_delay_seconds: 16,
};
const INVARIANT = {
  invariant: 'I1',
  verdict: 'BROKEN',
  comparedAt: new Date(20_000),
  agreedAt: new Date(10_000),
} as InvariantStatus;
const OF_INVARIANT = {
  'invariant{invariant="I1",verdict="HOLDS"}': 0,
  'invariant{invariant="I1",verdict="BROKEN"}': 1,
  'invariant{invariant="I1",verdict="NOT_PROVED"}': 0,
  'invariant_compared_timestamp_seconds{invariant="I1"}': 20,
  'invariant_agreed_timestamp_seconds{invariant="I1"}': 10,
};
const OF_INSTANCE = {
  open_requests: 31,
  open_websockets: 32,
  open_subscriptions: 33,
  'database_connections{state="lent"}': 34,
  'database_connections{state="idle"}': 35,
  database_waiting: 36,
  database_waited_total: 37,
  database_refused_total: 38,
  database_listening: 0,
  'public_reads_total{from="replica"}': 39,
  'public_reads_total{from="primary"}': 40,
  'replica_lag_seconds{replica="db-2:5432"}': 0.5,
  books_batches_total: 41,
  books_postings_total: 42,
  'rate_limit_refusals_total{policy="cpu"}': 43,
};

function metricsOf(readOpenWork: () => Promise<OpenWork>) {
  let nowMs = 0;
  const metrics = createMetrics({
    readOpenWork,
    listInvariants: async () => [INVARIANT],
    clock: { now: () => new Date(nowMs) },
    log: silentLog,
    handle: {
      load: () => ({ lent: 34, idle: 35, waiting: 36, waited: 37, refused: 38 }),
      isListening: () => false,
    },
    publicReads: {
      replicas: () => [{ name: 'db-2:5432', obstacle: null, lagMs: 500 }],
      served: () => ({ replica: 39, primary: 40 }),
    },
    books: { load: () => ({ batches: 41, postings: 42 }) },
    rateLimits: { refusals: new Map([['cpu', 43]]) },
  });
  const read = async () => {
    nowMs += 5_000;
    return valuesOf(metrics);
  };
  return { metrics, read };
}

async function valuesOf(metrics: Metrics): Promise<Record<string, number>> {
  const text = await metrics.read({ unfinishedRequests: 31, sockets: 32, subscriptions: 33 });
  const lines = Array.from(text.matchAll(/^marketplace_(.*) (\S+)$/gm));
  return Object.fromEntries(lines.map(([, name = '', value]) => [name, Number(value)]));
}

it('have each value under its own name, and those of the database only while it answers', async () => {
  let answers = true;
  const { read } = metricsOf(async () => {
    if (!answers) throw new Error('the connection is lost');
    return WORK;
  });
  const all = { ...OF_INSTANCE, ...OF_WORK, ...OF_INVARIANT, database_read: 1 };
  expect(await read()).toEqual(all);
  answers = false;
  expect(await read()).toEqual({ ...OF_INSTANCE, database_read: 0 });
  answers = true;
  expect(await read()).toEqual(all);
});

it('have no value of the database after three seconds without its answer', async () => {
  const { read } = metricsOf(() => new Promise(() => undefined));
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const reading = read();
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await reading).toEqual({ ...OF_INSTANCE, database_read: 0 });
});

it('show neither a reason that has ended nor a delay that is not known', async () => {
  let work = WORK;
  const { read } = metricsOf(async () => work);
  await read();
  work = { ...WORK, haltedBecause: null, feedDelaySeconds: null };
  const values = await read();
  expect(values).toMatchObject({ signing_halted: 0 });
  expect(values).not.toHaveProperty('feed_delay_seconds');
});

it('ask the database once for all who read them within five seconds', async () => {
  let asked = 0;
  const { metrics, read } = metricsOf(async () => {
    asked += 1;
    return WORK;
  });
  await read();
  await Promise.all([valuesOf(metrics), valuesOf(metrics)]);
  expect(asked).toBe(1);
  await read();
  expect(asked).toBe(2);
});

it('count operations, deliveries, and the durations of queries and mutations alone', async () => {
  const { metrics, read } = metricsOf(async () => WORK);
  const of = (type: string | undefined, durationMs: number) =>
    metrics.observeOperation({ transport: 'http', type, outcome: 'OK', durationMs });
  of('query', 2);
  of('query', 1_500);
  of('subscription', 60_000);
  of(undefined, 1);
  metrics.observeDelivery('retirements', 'failed');
  expect(await read()).toMatchObject({
    'operations_total{transport="http",type="query",outcome="OK"}': 2,
    'operations_total{transport="http",type="subscription",outcome="OK"}': 1,
    'operations_total{transport="http",type="none",outcome="OK"}': 1,
    'operation_duration_seconds_bucket{le="0.002",transport="http",type="query"}': 1,
    'operation_duration_seconds_sum{transport="http",type="query"}': 1.502,
    'operation_duration_seconds_count{transport="http",type="query"}': 2,
    'webhook_deliveries_total{hook="retirements",outcome="failed"}': 1,
  });
  expect(await read()).not.toHaveProperty(
    'operation_duration_seconds_count{transport="http",type="subscription"}',
  );
});
