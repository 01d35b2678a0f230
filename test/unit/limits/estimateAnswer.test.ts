/**
 * An answer that could become larger than the server sends is refused before it is made.
 */
import { getOperationAST, parse } from 'graphql';
import { expect, it } from 'vitest';
import { estimateAnswerBytes, requireAnswerWithinLimit } from '../../../src/limits/estimateAnswer.ts';
import { LONG_LISTS } from '../../../src/limits/operationCost.ts';
import { MAX_REGISTRY_RECORDS } from '../../../src/resolvers/carbon/readRegistry.ts';
import { schema } from '../../../src/schema/index.ts';
import { allowOneWalk, spreadOften } from '../../support/spreadFragments.ts';

function partsOf(query: string, variables: Record<string, unknown> = {}) {
  const document = parse(query);
  const operation = getOperationAST(document);
  if (!operation) throw new Error('no operation');
  return [schema, document, operation, variables] as const;
}

const registry = (selection: string) => `{ registry(tokenAddress: "x") { records { ${selection} } } }`;
const ALL = 'index retiredBy amount tonnes timestamp beneficiary note txHash tokenAddress';
const aliases = Array.from({ length: 40 }, (_, i) => `a${i}: note`).join(' ');

it('lets a whole registry pass with all of its fields', () => {
  expect(() => requireAnswerWithinLimit(...partsOf(registry(ALL)))).not.toThrow();
});

it.each([
  ['one leaf of a long list again and again', registry(`note ${aliases}`)],
  ['the same through a fragment', `${registry('...a')} fragment a on RetirementRecord { note ${aliases} }`],
])('refuses %s', (_what, query) => {
  expect(() => requireAnswerWithinLimit(...partsOf(query))).toThrow(/longest possible answer in bytes/);
});

it('counts a page by what is asked for, also by a variable', () => {
  const query = (first: string) =>
    `query ($n: Int) { registry(tokenAddress: "x") { recordsConnection(first: ${first}) { edges { node { note } } } } }`;
  const ten = estimateAnswerBytes(...partsOf(query('10')));
  expect(estimateAnswerBytes(...partsOf(query('$n'), { n: 10 }))).toBe(ten);
  const hundred = estimateAnswerBytes(...partsOf(query('100')));
  expect(hundred).toBeGreaterThan(9 * ten);
  const byDefault = query('$n').replace('$n: Int', '$n: Int = 100');
  expect(estimateAnswerBytes(...partsOf(byDefault))).toBe(hundred);
});

it('counts names of types, which an answer may have in each of its objects', () => {
  const bytes = (selection: string) => estimateAnswerBytes(...partsOf(registry(selection)));
  expect(bytes('__typename')).toBeGreaterThan(0.9 * bytes('txHash'));
});

it.each([
  ['first: -2147483648', {}],
  ['first: $n', { n: -2147483648 }],
])('makes nothing else smaller by a page of %s', (size, variables) => {
  const query = `query ($n: Int) { registry(tokenAddress: "x") {
    records { note ${aliases} }
    recordsConnection(${size}) { nodes { note ${aliases} } }
  } }`;
  expect(() => requireAnswerWithinLimit(...partsOf(query, variables))).toThrow(
    /longest possible answer in bytes/,
  );
});

it('lets a mutation return what it has made, and no long list beside it', () => {
  const purchase = (project: string) =>
    `mutation ($input: PurchaseInput!) { purchase(input: $input) { purchase { id state ${project} } } }`;
  const pageOf = (first: string) =>
    `project { id transactions { txHash } registry { recordsConnection(first: ${first}) { nodes { note } } } }`;
  expect(() => requireAnswerWithinLimit(...partsOf(purchase(pageOf('100'))))).not.toThrow();
  expect(() =>
    requireAnswerWithinLimit(...partsOf(purchase('project { registry { records { note } } }'))),
  ).toThrow(
    /at most 262144 is accepted. Select less of what the mutation returns, and read the rest in a query./,
  );
});

it('knows how long a registry may be', () => {
  expect(LONG_LISTS['Registry.records']).toBe(MAX_REGISTRY_RECORDS);
});

it.each([
  ['a field of one of the possible types', '{ node(id: "x") { ... on RetirementRecord { note } } }', 2_048],
  ['a field of all possible types', '{ node(id: "x") { id } }', 96],
  ['names of beneficiaries', registry('beneficiary'), 10_000 * 512],
  ['a list without pages', '{ project(tokenAddress: "x") { transactions { txHash } } }', 10 * 96],
  ['a longer one', '{ expiryRuns(first: 1) { nodes { failures { message } } } }', 100 * 96],
  ['a long alias', `{ ${'a'.repeat(5_000)}: retirementFeedCursor }`, 5_000],
])('counts %s', (_what, query, bytes) => {
  expect(estimateAnswerBytes(...partsOf(query))).toBeGreaterThan(bytes);
});

it('counts a page from the end of its list by its size, too', () => {
  const bytesOf = (size: string) =>
    estimateAnswerBytes(
      ...partsOf(`{ registry(tokenAddress: "x") { recordsConnection(${size}) { nodes { note } } } }`),
    );
  expect(bytesOf('last: 100')).toBe(bytesOf('first: 100'));
  expect(bytesOf('first: null, last: 100')).toBe(bytesOf('first: 100'));
});

it('walks a fragment once for each type, however often it is spread', () => {
  const parts = partsOf(spreadOften('{ ...f0 }', 'Query', 'retirementFeedCursor'));
  allowOneWalk(parts[1]);
  expect(estimateAnswerBytes(...parts)).toBeGreaterThan(2 ** 20);
});
