/**
 * The cost of a request outside of its resolvers, against node:http that responds with JSON.
 */
import type { Bench } from '../bench.ts';
import type { HttpClient, HttpResult } from '../load/messages.ts';
import { sendRequests } from '../load/client.ts';
import { compareRates, median, type Row } from '../row.ts';
import { openProject } from './market.ts';
import { mutationToken } from '../mutationToken.ts';

const CONNECTIONS = 64;
const DRAIN_SECONDS = 5;
const RAW = 'node:http that answers with JSON';

const QUERY = JSON.stringify({ query: '{ __typename }' });
const MUTATION = JSON.stringify({
  query: 'mutation Retire($input: RetireInput!) { retire(input: $input) }',
  variables: { input: { buyerId: 'acme', buyerName: 'Acme Airlines', amountCO2e: 250 } },
});
const PROJECT = `query Project($tokenAddress: Address!) { project(tokenAddress: $tokenAddress) {
  assetId state creditType vintageYear quantityCO2e projectLocation tokenAddress
} }`;

export const httpRows: readonly Row[] = [
  {
    name: 'query',
    group: 'HTTP',
    title: '{ __typename }',
    unit: 'requests/s',
    baseline: RAW,
    target: { atLeast: 0.7 },
    async run(bench) {
      const product = await bench.product();
      const raw = await bench.baseline('rawHttp');
      const byHand = await bench.baseline('graphqlByHand');
      const clients = [{ headers: {}, bodies: [QUERY] }];
      const withToken = [{ headers: await product.bearer('buyer', 'acme'), bodies: [QUERY] }];
      return compare(bench, {
        product: () => ask(bench, product.port, '/graphql', clients, '__typename'),
        baseline: () => ask(bench, raw.port, '/query', clients, '__typename'),
        others: {
          'with a token, ÷ baseline': () => ask(bench, product.port, '/graphql', withToken, '__typename'),
          'GraphQL by hand, ÷ baseline': () => ask(bench, byHand.port, '/graphql', clients, '__typename'),
        },
      });
    },
  },
  {
    name: 'mutation',
    group: 'HTTP',
    title: 'a mutation with a token and without SQL',
    unit: 'requests/s',
    baseline: RAW,
    target: { atLeast: 0.6 },
    async run(bench) {
      const raw = await bench.baseline('rawHttp');
      const byHand = await bench.baseline('graphqlByHand');
      const server = await bench.productWithoutDatabase();
      try {
        const authorization = `Bearer ${await mutationToken()}`;
        const clients = [{ headers: { authorization }, bodies: [MUTATION] }];
        return await compare(bench, {
          product: () => ask(bench, server.port, '/graphql', clients, '250 tonnes'),
          baseline: () => ask(bench, raw.port, '/mutation', clients, '250 tonnes'),
          others: {
            'GraphQL by hand, ÷ baseline': () => ask(bench, byHand.port, '/graphql', clients, '250 tonnes'),
          },
        });
      } finally {
        await server.stop();
      }
    },
  },
  {
    name: 'project',
    group: 'HTTP',
    title: 'a project by its token',
    unit: 'requests/s',
    baseline: 'node:http with the same SELECT',
    target: { atLeast: 0.6 },
    async run(bench) {
      const product = await bench.product();
      const { tokenAddress } = await openProject(product);
      const raw = await bench.baseline('rawHttp');
      const body = JSON.stringify({ query: PROJECT, variables: { tokenAddress } });
      const clients = [{ headers: {}, bodies: [body] }];
      return compare(bench, {
        product: () => ask(bench, product.port, '/graphql', clients, '"assetId":"VCS-'),
        baseline: () => ask(bench, raw.port, '/project', clients, '"assetId":"VCS-'),
        others: {},
      });
    },
  },
];

type Turn = () => Promise<HttpResult>;

function compare(bench: Bench, turns: { product: Turn; baseline: Turn; others: Record<string, Turn> }) {
  const others = Object.entries(turns.others).map(([name, turn]) => ({ name, turn, rates: [] as number[] }));
  const product = async () => {
    for (const other of others) other.rates.push((await other.turn()).perSecond);
    return turns.product();
  };
  return compareRates(bench, { product, baseline: turns.baseline }, ({ p99Ms }, baseline) => {
    const ofOthers = others.map(({ name, rates }) => [name, median(rates) / baseline.perSecond] as const);
    return { 'p99 ms': p99Ms, 'baseline p99 ms': baseline.p99Ms, ...Object.fromEntries(ofOthers) };
  });
}

function ask(
  bench: Bench,
  port: number,
  path: string,
  clients: readonly HttpClient[],
  expect: string,
): Promise<HttpResult> {
  const job = { port, path, connections: CONNECTIONS, drainSeconds: DRAIN_SECONDS, clients, expect };
  return sendRequests(bench, job);
}
