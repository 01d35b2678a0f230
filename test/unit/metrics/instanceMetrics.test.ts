import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { registerInstance } from '../../../src/metrics/instanceMetrics.ts';

it('shows the lag of a replica while it is known, and no old one afterwards', async () => {
  const registry = new Registry();
  let lagMs: number | null = 500;
  const sources = {
    handle: {
      load: () => ({ lent: 0, idle: 0, waiting: 0, waited: 0, refused: 0 }),
      isListening: () => true,
    },
    publicReads: {
      replicas: () => [{ name: 'db-2:5432', obstacle: null, lagMs }],
      served: () => ({ replica: 0, primary: 0 }),
    },
    books: { load: () => ({ batches: 0, postings: 0 }) },
    rateLimits: { refusals: new Map() },
  };
  registerInstance([registry], sources, () => ({ unfinishedRequests: 0, sockets: 0, subscriptions: 0 }));
  const lags = async () =>
    (await registry.getSingleMetricAsString('marketplace_replica_lag_seconds'))
      .split('\n')
      .filter((line) => !line.startsWith('#'));
  expect(await lags()).toEqual(['marketplace_replica_lag_seconds{replica="db-2:5432"} 0.5']);
  // After the promotion of another primary, the data on the replica may be of any age.
  lagMs = null;
  expect(await lags()).toEqual([]);
});
