/**
 * The inclusion proofs of a list's items are made for the whole page together: each alone would read the
 * head, tiles and an entry of the log.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createInclusionCheck } from '../../../src/transparency/inclusion.ts';
import { buy, buyer, mutate, newToken, operator, payloadOf } from '../../support/http/creditTrade.ts';
import { askCounted } from '../../support/http/countStatements.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';

interface Proof {
  leafIndex: string;
  entry: string;
  hashes: string[];
  treeSize: string;
  rootHash: string;
  checkpoint: string;
}

let market: Marketplace;

beforeAll(async () => {
  market = await startMarketplace();
  const token = await newToken(market);
  for (const tonnes of [10, 20, 30]) await buy(market, 'ann', token, tonnes);
  for (const amountCO2e of [1, 2, 3]) {
    const input = { tokenAddress: token, buyerName: 'Ann', amountCO2e };
    payloadOf(await mutate(market, ['retire', 'RetireInput', 'retirement { id }'], input, buyer('ann')));
  }
  await logAll(market.app.dependencies.logs);
});
afterAll(() => market.stop());

const PROOF = 'inclusionProof { leafIndex entry hashes treeSize rootHash checkpoint }';

/** The facts of the proved entry; an error names the proof's defect. */
function provedBy(proof: Proof | null): Record<string, unknown> {
  const { logs, network } = market.app.dependencies;
  if (proof === null) throw new Error('there is no proof');
  const [leafIndex, treeSize] = [Number(proof.leafIndex), Number(proof.treeSize)];
  expect(createInclusionCheck(logs.key, network.networkId)({ ...proof, leafIndex, treeSize })).toBeNull();
  return JSON.parse(proof.entry) as Record<string, unknown>;
}

it.each([
  [
    'records',
    (fields: string) => `{ list: retirementRecords(first: 10) ${fields} }`,
    'amount',
    'FROM retirement_records r',
  ],
  [
    'purchases',
    (fields: string) => `{ buyerAccount(buyerId: "ann") { list: purchases(first: 10) ${fields} } }`,
    'tonnes',
    'AS data FROM transfers t',
  ],
])('of %s are each of its own item', async (_what, queryOf, amount, entries) => {
  const query = queryOf(`{ nodes { amount: ${amount} ${PROOF} } }`);
  interface Listed {
    amount: string;
    inclusionProof: Proof | null;
  }
  const { nodes, statements } = await askCounted<Listed>(market, query, operator, entries);
  expect(nodes).toHaveLength(3);
  expect(nodes.map(({ inclusionProof }) => provedBy(inclusionProof)[amount])).toEqual(
    nodes.map((node) => node.amount),
  );
  expect(statements).toEqual([1]);
});
