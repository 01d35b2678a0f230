/**
 * What a list's items have in other tables is read for the whole page together: a page of a hundred
 * retirements with their transactions and records would otherwise ask the database three hundred times.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buy, buyer, mutate, newToken, operator, payloadOf } from '../../support/http/creditTrade.ts';
import { askCounted } from '../../support/http/countStatements.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';

let market: Marketplace;
let token: string;

beforeAll(async () => {
  market = await startMarketplace();
  token = await newToken(market);
  await newToken(market);
  await buy(market, 'ann', token, 10);
  for (const amountCO2e of [1, 2, 3]) {
    const input = { tokenAddress: token, buyerName: 'Ann', amountCO2e };
    payloadOf(await mutate(market, ['retire', 'RetireInput', 'retirement { id }'], input, buyer('ann')));
  }
});
afterAll(() => market.stop());

it('reads the transactions of a page in one statement, each item with its own', async () => {
  interface Listed {
    tokenAddress: string;
    transactions: { kind: string; state: string; txHash: string }[];
  }
  const query = '{ list: projects(first: 10) { nodes { tokenAddress transactions { kind state txHash } } } }';
  const { nodes, statements } = await askCounted<Listed>(market, query, operator, 'from "attempts"');
  expect(nodes.map(({ transactions }) => transactions.map(({ kind, state }) => [kind, state]))).toEqual(
    nodes.map(() => [
      ['DEPLOY_CARBON_CREDIT', 'LANDED'],
      ['MINT', 'LANDED'],
    ]),
  );
  expect(new Set(nodes.flatMap(({ transactions }) => transactions.map(({ txHash }) => txHash))).size).toBe(4);
  expect(statements).toEqual([1]);
});

it('reads the records of a page of retirements in one statement, each retirement with its own', async () => {
  interface Listed {
    tonnes: string;
    recordIndex: number;
    record: { tonnes: string; index: number; tokenAddress: string };
  }
  const query = `{ list: retirements(first: 10) {
    nodes { tonnes recordIndex record { tonnes index tokenAddress } } } }`;
  const { nodes, statements } = await askCounted<Listed>(
    market,
    query,
    operator,
    'from "retirement_records"',
  );
  expect(nodes.map(({ tonnes }) => tonnes)).toEqual(['3', '2', '1']);
  expect(nodes.map(({ record }) => record)).toEqual(
    nodes.map(({ tonnes, recordIndex: index }) => ({ tonnes, index, tokenAddress: token })),
  );
  expect(statements).toEqual([1]);
});
