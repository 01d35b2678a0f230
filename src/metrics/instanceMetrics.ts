/**
 * The counts of one instance, read where they are counted.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { DatabaseHandle } from '../db/connection.ts';
import type { PublicReads } from '../db/publicReads.ts';
import type { Books } from '../ledger/books/books.ts';
import type { ServerLoad } from '../http/server/server.ts';
import type { RateLimits } from '../limits/rateLimits.ts';

export interface InstanceMetricsDependencies {
  handle: Pick<DatabaseHandle, 'load' | 'isListening'>;
  publicReads: Pick<PublicReads, 'replicas' | 'served'>;
  books: Pick<Books, 'load'>;
  rateLimits: Pick<RateLimits, 'refusals'>;
}

/** One number, or one for each value of a label. */
type Read = () => number | Iterable<readonly [string, number]>;

/**
 * A metric whose values are counted elsewhere. Each reading replaces all values, because the last value of a
 * vanished label would look like a present one.
 */
function shownAs(Metric: typeof Gauge | typeof Counter, registers: Registry[]) {
  return (name: string, help: string, read: Read, label?: string) =>
    new Metric({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers,
      collect() {
        this.reset();
        const values = read();
        if (typeof values === 'number') this.inc(values);
        else for (const [value, count] of new Map(values)) this.inc({ [label ?? '']: value }, count);
      },
    });
}

export function registerInstance(
  registers: Registry[],
  { handle, publicReads, books, rateLimits }: InstanceMetricsDependencies,
  load: () => ServerLoad,
): void {
  const gauge = shownAs(Gauge, registers);
  const total = shownAs(Counter, registers);
  gauge(
    'marketplace_open_requests',
    'HTTP requests without a whole answer yet.',
    () => load().unfinishedRequests,
  );
  gauge('marketplace_open_websockets', 'Open websockets.', () => load().sockets);
  gauge(
    'marketplace_open_subscriptions',
    'Subscriptions under way, over all transports.',
    () => load().subscriptions,
  );
  registerDatabase({ gauge, total }, handle);
  total(
    'marketplace_public_reads_total',
    'Public lists and pages of the feed, by where they were read.',
    () => Object.entries(publicReads.served()),
    'from',
  );
  gauge(
    'marketplace_replica_lag_seconds',
    'How old what a replica shows may be; missing while that is not known.',
    () =>
      publicReads
        .replicas()
        .flatMap(({ name, lagMs }) => (lagMs === null ? [] : [[name, lagMs / 1000] as const])),
    'replica',
  );
  total(
    'marketplace_books_batches_total',
    'Batches of postings that were sent to the database.',
    () => books.load().batches,
  );
  total('marketplace_books_postings_total', 'Postings in these batches.', () => books.load().postings);
  total(
    'marketplace_rate_limit_refusals_total',
    'Requests, sockets, operations, credentials and deliveries that a rate limit refused, by the limit.',
    () => rateLimits.refusals,
    'policy',
  );
}

function registerDatabase(
  { gauge, total }: Record<'gauge' | 'total', ReturnType<typeof shownAs>>,
  handle: InstanceMetricsDependencies['handle'],
): void {
  gauge(
    'marketplace_database_connections',
    'Connections to the database, by what they do.',
    () => {
      const { lent, idle } = handle.load();
      return Object.entries({ lent, idle });
    },
    'state',
  );
  gauge(
    'marketplace_database_waiting',
    'Statements and transactions that wait for a connection.',
    () => handle.load().waiting,
  );
  total(
    'marketplace_database_waited_total',
    'Waits for a connection; a transaction may have two, the first for its place among transactions.',
    () => handle.load().waited,
  );
  total(
    'marketplace_database_refused_total',
    'Statements and transactions that got no connection in time.',
    () => handle.load().refused,
  );
  gauge(
    'marketplace_database_listening',
    '1 while notifications of the database arrive, 0 while changes by other instances are found later.',
    () => Number(handle.isListening()),
  );
}
