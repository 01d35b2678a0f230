/**
 * What an operation costs is known before it runs: what takes the database or the network long counts as many
 * objects, and a page counts by its size, however the size is given.
 */
import { getNamedType, getOperationAST, isLeafType, isObjectType, parse } from 'graphql';
import { expect, it } from 'vitest';
import { defaultLimits } from '../../../src/limits/limits.ts';
import { isList, LIST_SIZE, LONG_LISTS, measure, priceFields } from '../../../src/limits/operationCost.ts';
import { INVARIANTS } from '../../../src/reconciliation/verdicts.ts';
import { schema } from '../../../src/schema/index.ts';

priceFields(schema);

function sizeOf(query: string, variables?: Record<string, unknown>) {
  const document = parse(query);
  const operation = getOperationAST(document, 'Asked') ?? getOperationAST(document);
  if (!operation) throw new Error('no operation');
  return measure(schema, document, operation, variables);
}
const costOf = (query: string, variables?: Record<string, unknown>) => sizeOf(query, variables).cost;

const HISTORIES = '{ reviews { reason } holderActs { txHash } providerHistory { status } }';
const RECORD = '{ retirementRecord(tokenAddress: "x", index: 0)';

it.each([
  ['sums over all retirements', '{ retirementTotals(groupBy: DAY, first: 10) { nodes { tonnes } } }', 510],
  ['lists of all records', '{ retirementRecords(first: 10) { nodes { tonnes } } }', 110],
  ['the types of projects', '{ projectTypes }', 100],
  ['the types of credits', '{ creditTypes }', 100],
  ['the types of commodities', '{ commodityTypes }', 100],
  ['a record on the network', `${RECORD} { onNetwork { note } } }`, 101],
  ['the registry of a token', '{ registry(tokenAddress: "x") { totalRetirements } }', 80],
  ['the registries of a page', '{ projects(first: 100) { nodes { registry { totalRetirements } } } }', 8_101],
  ['all records of a token', '{ registry(tokenAddress: "x") { records { note } } }', 4_080],
  ['the proof of a record', `${RECORD} { inclusionProof { leafIndex } } }`, 21],
  ['the proof of a purchase', '{ node(id: "x") { ... on Purchase { inclusionProof { leafIndex } } } }', 201],
  ['the proof of a log', '{ consistencyProof(log: RETIREMENTS, from: 1, to: 2) { hashes } }', 20],
  ['what is found for a submission', '{ submission(id: "x") { foundOnNetwork { txHash } } }', 101],
  ['a page of them', '{ submissions(first: 100) { nodes { foundOnNetwork { txHash } } } }', 10_101],
  ['a reconciliation', '{ reconciliation(tokenAddress: "x") { agrees } }', 4_000],
  ['a quote', '{ offRampQuote(tokenAmount: 1, fiatCurrency: "KES") { feeBps } }', 1_000],
  ['failures of runs', '{ expiryRuns(first: 100) { nodes { failures { message } } } }', 1 + 100 * 11],
  ['histories of sessions', `{ offRampSessions(first: 100) { nodes ${HISTORIES} } }`, 1 + 100 * 31],
  [
    'what was signed for the sessions of a page',
    '{ offRampSessions { nodes { holderActs { transactions { txHash } } } } }',
    1 + 20 * 111,
  ],
  ['the number of a list', '{ projects(first: 10) { totalCount } }', 101],
  ['a list without pages', '{ project(tokenAddress: "x") { transactions { txHash } } }', 1 + LIST_SIZE],
  ['a field of the root', '{ retirementFeedCursor }', 1],
])('counts for %s', (_what, query, cost) => {
  expect(costOf(query)).toBe(cost);
});

it('lets the largest page of each list select each list of its objects', () => {
  const refused: string[] = [];
  for (const list of Object.values(schema.getQueryType()?.getFields() ?? {})) {
    if (!list.args.some(({ name }) => name === 'first')) continue;
    const connection = getNamedType(list.type);
    const node = isObjectType(connection) && getNamedType(connection.getFields()['nodes']!.type);
    for (const field of isObjectType(node) ? Object.values(node.getFields()) : []) {
      if (!isList(field.type)) continue;
      const selected = isLeafType(getNamedType(field.type)) ? '' : '{ __typename }';
      const query = `{ ${list.name}(first: 100) { nodes { ${field.name} ${selected} } } }`;
      if (costOf(query) > defaultLimits().MAX_OPERATION_COST) refused.push(query);
    }
  }
  expect(refused).toEqual([]);
});

it('counts a page by what is asked for: from its start or its end, as text, by a variable or by its default', () => {
  const page = (size: string) =>
    `query ($n: Int = 30, $none: Int) { projects(${size}) { nodes { projectType } } }`;
  expect(costOf(page('first: 30'))).toBe(31);
  expect(costOf(page('last: 30'))).toBe(31);
  expect(costOf(page('first: $none, last: 30'))).toBe(31);
  expect(costOf(page('first: $n'))).toBe(31);
  expect(costOf(page('first: $n'), { n: 40 })).toBe(41);
  expect(costOf(page('after: "x"'))).toBe(21);
});

it('counts what the asked operation selects, with its fragments, and no other operation of the document', () => {
  const other = 'query Other { retirementTotals(groupBy: DAY) { nodes { tonnes } } }';
  expect(costOf(`${other} query Asked { ...types } fragment types on Query { projectTypes }`)).toBe(100);
});

it('reads no id, which the field itself refuses at its place', () => {
  expect(costOf('{ auditEntries(filter: { apiKeyIds: ["x"] }) { nodes { id } } }')).toBe(21);
});

it.each([
  ['quotes', 'offRampQuote(tokenAmount: 1, fiatCurrency: "KES") { feeBps }', 10],
  ['reconciliations', 'reconciliation(tokenAddress: "x") { agrees }', 2],
])('allows a few %s in an operation, not dozens', (_what, field, most) => {
  const aliases = (count: number) => Array.from({ length: count }, (_, i) => `a${i}: ${field}`).join(' ');
  const { MAX_OPERATION_COST } = defaultLimits();
  expect(costOf(`{ ${aliases(most)} }`)).toBeLessThanOrEqual(MAX_OPERATION_COST);
  expect(costOf(`{ ${aliases(most + 1)} }`)).toBeGreaterThan(MAX_OPERATION_COST);
});

it('counts each list without pages by its maximum, as its description says it', () => {
  const said: Record<string, number> = { 'Query.invariants': Object.keys(INVARIANTS).length };
  const lists = Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })))
    .filter(({ type, field }) => isList(field.type) && !type.name.endsWith('Connection'));
  for (const { type, field } of lists) {
    const most = /\bat most (?:the latest )?(\d+)/.exec(field.description ?? '')?.[1];
    if (most !== undefined) said[`${type.name}.${field.name}`] = Number(most);
  }
  expect(Object.keys(said).length).toBeGreaterThan(8);
  const counted = Object.keys(said).map((path) => [path, LONG_LISTS[path] ?? LIST_SIZE]);
  expect(Object.fromEntries(counted)).toEqual(said);
  expect(lists.map(({ type, field }) => `${type.name}.${field.name}`)).toEqual(
    expect.arrayContaining(Object.keys(LONG_LISTS)),
  );
});
