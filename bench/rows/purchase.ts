/**
 * Purchases a second, with tokens, keys, audit, limits and the rules of the books, against the plain server
 * without them.
 */
import type { Bench } from '../bench.ts';
import type { HttpClient, HttpResult } from '../load/messages.ts';
import { sendRequests } from '../load/client.ts';
import { compareRates, type Outcome, type Row } from '../row.ts';
import { buyingClients, openProjects, plainClients } from './market.ts';

const SPREAD_TOKENS = 64;
/** Time for the requests under way at the end of a turn. */
const DRAIN_SECONDS = 30;

const UNIT = 'purchases/s';
const PLAIN = 'a plain server: one statement a purchase, without tokens, keys, audit and rules';

export const purchaseRows: readonly Row[] = [
  row('purchase', 'one hot token, 64 connections', 64, { atLeast: 8 }),
  row('purchase-256', 'one hot token, 256 connections', 256, { atLeast: 12 }),
  row('purchase-one', 'one connection', 1, { atLeast: 1 }),
  {
    name: 'purchase-spread',
    group: 'Purchases',
    title: 'one hot token ÷ 64 tokens, 64 connections',
    unit: UNIT,
    baseline: 'the product with purchases spread over 64 tokens',
    target: { atLeast: 0.9 },
    async run(bench) {
      const product = await bench.product();
      const tokens = await openProjects(product, SPREAD_TOKENS);
      const hot = await buyingClients(product, tokens.slice(0, 1));
      const spread = await buyingClients(product, tokens);
      return compareRates(
        bench,
        {
          product: () => buy(bench, product.port, hot, 64),
          baseline: () => buy(bench, product.port, spread, 64),
        },
        latenciesOf,
      );
    },
  },
];

function row(name: string, title: string, connections: number, target: Row['target']): Row {
  return {
    name,
    group: 'Purchases',
    title,
    unit: UNIT,
    baseline: PLAIN,
    target,
    async run(bench) {
      const product = await bench.product();
      const plain = await bench.baseline('plainMarketplace');
      const clients = await buyingClients(product, await openProjects(product, 1));
      return compareRates(
        bench,
        {
          product: () => buy(bench, product.port, clients, connections),
          baseline: () => buy(bench, plain.port, plainClients(), connections),
        },
        latenciesOf,
      );
    },
  };
}

export function buy(
  bench: Pick<Bench, 'load' | 'seconds'>,
  port: number,
  clients: readonly HttpClient[],
  connections: number,
): Promise<HttpResult> {
  const job = { port, connections, drainSeconds: DRAIN_SECONDS, clients, expect: '"purchase":{"id"' };
  return sendRequests(bench, job);
}

function latenciesOf(product: HttpResult, baseline: HttpResult): Outcome['details'] {
  return {
    'p50 ms': product.p50Ms,
    'p99 ms': product.p99Ms,
    'baseline p50 ms': baseline.p50Ms,
    'baseline p99 ms': baseline.p99Ms,
    'p99 ÷ baseline': product.p99Ms / baseline.p99Ms,
  };
}
