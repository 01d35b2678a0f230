/**
 * Metrics in Prometheus' text format. Requests are counted as they end. Everything else is read when metrics
 * are asked for; values from the database at most every few seconds, however many callers ask.
 */
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import type { ObserveOperation } from '../http/graphql/logOperations.ts';
import type { DeliveryOutcome } from '../http/server/hooks.ts';
import type { ServerLoad } from '../http/server/server.ts';
import { createStoredMetrics, type StoredMetricsDependencies } from './storedMetrics.ts';
import { registerInstance, type InstanceMetricsDependencies } from './instanceMetrics.ts';
import { getOrMake } from '../lib/getOrMake.ts';

export interface Metrics {
  observeOperation: ObserveOperation;
  observeDelivery(hook: string, outcome: DeliveryOutcome): void;
  contentType: string;
  read(load: ServerLoad): Promise<string>;
}

/** From an answer out of memory to the longest wait of a mutation for the network. */
const DURATION_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createMetrics(deps: StoredMetricsDependencies & InstanceMetricsDependencies): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const operations = new Counter({
    name: 'marketplace_operations_total',
    help: 'GraphQL operations that have ended, and requests that became none, by outcome: OK, or the code of the first error.',
    labelNames: ['transport', 'type', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'marketplace_operation_duration_seconds',
    help: 'From the arrival of an operation to its answer; of queries and mutations.',
    labelNames: ['transport', 'type'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const deliveries = new Counter({
    name: 'marketplace_webhook_deliveries_total',
    help: 'Deliveries of the indexer and callbacks of the ramp provider, by outcome: accepted, refused, failed.',
    labelNames: ['hook', 'outcome'],
    registers,
  });
  let load: ServerLoad = { unfinishedRequests: 0, sockets: 0, subscriptions: 0 };
  registerInstance(registers, deps, () => load);
  const stored = createStoredMetrics(registers, deps);
  // Labels are hashed once for each combination, not for each request.
  const counters = new Map<string, Counter.Internal>();
  const histograms = new Map<string, Histogram.Internal<'transport' | 'type'>>();

  return {
    observeOperation({ transport, type = 'none', outcome, durationMs }) {
      getOrMake(counters, `${transport} ${type} ${outcome}`, () =>
        operations.labels(transport, type, outcome),
      ).inc();
      // A subscription lasts as long as its stream.
      if (type !== 'query' && type !== 'mutation') return;
      getOrMake(histograms, `${transport} ${type}`, () => durations.labels(transport, type)).observe(
        durationMs / 1000,
      );
    },
    observeDelivery: (hook, outcome) => deliveries.inc({ hook, outcome }),
    contentType: registry.contentType,
    async read(now) {
      load = now;
      await stored.update();
      return `${await processRegistry().metrics()}\n${await registry.metrics()}`;
    },
  };
}

/** The process' registry. Its observers can't be ended, so it is made once, and only if metrics are read. */
let ofProcess: Registry | null = null;

function processRegistry(): Registry {
  if (ofProcess === null) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}
