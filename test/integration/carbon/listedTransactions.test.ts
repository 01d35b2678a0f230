/**
 * What a list's items have in other tables is read for the whole page together: a page of a hundred
 * retirements with their transactions and records would otherwise ask the database three hundred times.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { attempts, retirementRecords } from '../../../src/db/tables/index.ts';
import { buy, buyer, mutate, newToken, operator, payloadOf } from '../../support/http/creditTrade.ts';
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

/** Sends the query. @returns its nodes, and how many statements read the table */
async function ask<Node>(query: string, table: object): Promise<{ nodes: Node[]; statements: number }> {
  const { db } = market.app.dependencies;
  const read: unknown[] = [];
  const select = db.select.bind(db) as (...fields: unknown[]) => { from(source: unknown): unknown };
  const watched = vi.spyOn(db, 'select').mockImplementation(((...fields: unknown[]) => {
    const builder = select(...fields);
    const from = builder.from.bind(builder);
    return Object.assign(builder, { from: (source: unknown) => (read.push(source), from(source)) });
  }) as never);
  const { data, errors } = await market.send<{ list: { nodes: Node[] } }>(query, {}, operator);
  watched.mockRestore();
  expect(errors).toEqual([]);
  return { nodes: data?.list.nodes ?? [], statements: read.filter((source) => source === table).length };
}

it('reads the transactions of a page in one statement, each item with its own', async () => {
  interface Listed {
    tokenAddress: string;
    transactions: { kind: string; state: string; txHash: string }[];
  }
  const query = '{ list: projects(first: 10) { nodes { tokenAddress transactions { kind state txHash } } } }';
  const { nodes, statements } = await ask<Listed>(query, attempts);
  expect(nodes.map(({ transactions }) => transactions.map(({ kind, state }) => [kind, state]))).toEqual(
    nodes.map(() => [
      ['DEPLOY_CARBON_CREDIT', 'LANDED'],
      ['MINT', 'LANDED'],
    ]),
  );
  expect(new Set(nodes.flatMap(({ transactions }) => transactions.map(({ txHash }) => txHash))).size).toBe(4);
  expect(statements).toBe(1);
});

it('reads the records of a page of retirements in one statement, each retirement with its own', async () => {
  interface Listed {
    tonnes: string;
    recordIndex: number;
    record: { tonnes: string; index: number; tokenAddress: string };
  }
  const query = `{ list: retirements(first: 10) {
    nodes { tonnes recordIndex record { tonnes index tokenAddress } } } }`;
  const { nodes, statements } = await ask<Listed>(query, retirementRecords);
  expect(nodes.map(({ tonnes }) => tonnes)).toEqual(['3', '2', '1']);
  expect(nodes.map(({ record }) => record)).toEqual(
    nodes.map(({ tonnes, recordIndex: index }) => ({ tonnes, index, tokenAddress: token })),
  );
  expect(statements).toBe(1);
});
