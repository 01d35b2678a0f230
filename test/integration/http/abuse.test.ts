/**
 * Every abuse by strangers, over every transport: the answer, and that the server still serves others.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { ErrorCode } from '../../../src/lib/errors.ts';
import { askOver, codesOf, TRANSPORTS, type Question } from '../../support/http/askOver.ts';
import { testLimits } from '../../support/http/httpServer.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../../support/http/marketplace.ts';

const limits = testLimits();
let market: Marketplace;
/** A server as in production: introspection is off, and queries deeper than four fields are refused. */
let closed: Marketplace;

beforeAll(async () => {
  market = await startMarketplace();
  closed = await startMarketplace({
    database: market.database,
    withIndexer: false,
    introspection: false,
    limits: { ...limits, MAX_OPERATION_DEPTH: 4 },
  });
});
afterAll(async () => {
  await closed.stop();
  await market.stop();
});
afterEach(async () => {
  const others = await Promise.all(
    TRANSPORTS.map((transport) => askOver(transport, market.url, { query: '{ ledgerNetwork { name } }' })),
  );
  for (const reply of others) expect(reply.data).toEqual({ ledgerNetwork: { name: 'embedded' } });
});

const many = (count: number, part: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => part(i)).join(' ');

const buyers = { role: 'buyer', subject: 'acme' } as const;
const PURCHASE = 'mutation ($input: PurchaseInput!) { purchase(input: $input) { purchase { id } } }';
const purchaseOf = (input: Record<string, unknown>) => ({
  query: PURCHASE,
  variables: {
    input: { buyerId: 'acme', tokenAddress: 'C', amountCO2e: 1, idempotencyKey: randomUUID(), ...input },
  },
});

const DOCUMENTS: [string, Question, ErrorCode][] = [
  ['51 aliases', { query: `{ ${many(51, (i) => `a${i}: __typename`)} }` }, 'OPERATION_TOO_LARGE'],
  [
    '51 directives',
    { query: `{ ${many(51, () => '... @include(if: true) { __typename }')} }` },
    'OPERATION_TOO_LARGE',
  ],
  ['501 fields', { query: `{ ledgerNetwork { ${many(501, () => 'name')} } }` }, 'OPERATION_TOO_LARGE'],
  [
    'a page of pages, again and again',
    {
      query: `{ ${many(49, (i) => `a${i}: projects(first: 100) { edges { node { transactions { txHash } } } }`)} }`,
    },
    'OPERATION_TOO_LARGE',
  ],
  [
    'a page size in a variable',
    {
      query: `query ($n: Int!) { ${many(49, (i) => `a${i}: projects(first: $n) { edges { node { books { issued } } } }`)} }`,
      variables: { n: 100 },
    },
    'OPERATION_TOO_LARGE',
  ],
  [
    'all records of a token, many times',
    { query: `{ ${many(5, (i) => `a${i}: registry(tokenAddress: "C") { records { index } }`)} }` },
    'OPERATION_TOO_LARGE',
  ],
  [
    'the registries of the projects of thousands of records',
    {
      query: `{ ${many(24, (i) => `a${i}: retirementRecords(first: 100) { nodes { project { registry { totalRetired } } } }`)} }`,
    },
    'OPERATION_TOO_LARGE',
  ],
  [
    'all records of a token as the answer of a mutation',
    {
      ...purchaseOf({}),
      query: PURCHASE.replace('{ id }', '{ project { registry { records { index } } } }'),
    },
    'OPERATION_TOO_LARGE',
  ],
  [
    'thousands of empty lines, which each error would count',
    { query: `{ ${'\n'.repeat(2_000)} nothing }` },
    'OPERATION_TOO_LARGE',
  ],
  [
    'thousands of values in variables, of which each would be checked',
    {
      query: 'query ($filter: ProjectFilter) { projects(filter: $filter) { nodes { id } } }',
      variables: { filter: { countryCodes: Array.from({ length: 2_000 }, () => 'DE') } },
    },
    'OPERATION_TOO_LARGE',
  ],
  ['too many tokens', { query: `{ ${many(2_000, () => '__typename')} }` }, 'GRAPHQL_PARSE_FAILED'],
  [
    'fragments that double sixty times',
    {
      query: `{ ...f0 } ${many(60, (i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`)}
        fragment f60 on Query { ledgerNetwork { name } }`,
    },
    'OPERATION_TOO_LARGE',
  ],
  [
    'fragments in a circle',
    { query: '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }' },
    'GRAPHQL_VALIDATION_FAILED',
  ],
  [
    'a hundred fragments that spread each other',
    {
      query: `{ ${many(100, (i) => `...f${i}`)} } ${many(
        100,
        (i) => `fragment f${i} on Query { ledgerNetwork { name } ...f${(i + 1) % 100} ...f${(i + 2) % 100} }`,
      )}`,
    },
    'GRAPHQL_VALIDATION_FAILED',
  ],
  [
    'one field of an object, 240 times',
    { query: `{ ${many(240, () => 'ledgerNetwork { name }')} }` },
    'OPERATION_TOO_LARGE',
  ],
  [
    'introspection without end',
    { query: `{ __schema { types { ${'fields { type { '.repeat(6)} name ${'} } '.repeat(6)} } } }` },
    'GRAPHQL_VALIDATION_FAILED',
  ],
  [
    'introspection of everything, 48 times over',
    {
      query: `{ ${many(48, (i) => `a${i}: __schema { types { ${'fields { type { '.repeat(2)} name ${'} } '.repeat(2)} } }`)} }`,
    },
    'OPERATION_TOO_LARGE',
  ],
  ['deep nonsense', { query: `{ ${'a { '.repeat(600)} b ${'} '.repeat(600)} }` }, 'OPERATION_TOO_LARGE'],
  [
    'deep lists',
    { query: `{ projects(filter: ${'['.repeat(900)}${']'.repeat(900)}) { edges { cursor } } }` },
    'GRAPHQL_VALIDATION_FAILED',
  ],
  [
    'a variable of 1,900 lists in each other',
    {
      query: 'query ($f: ProjectFilter) { projects(first: 1, filter: $f) { edges { cursor } } }',
      variables: { f: nested(1_900) },
    },
    'BAD_USER_INPUT',
  ],
  ['a document of nothing', { query: '' }, 'GRAPHQL_PARSE_FAILED'],
  [
    'two mutations in one name',
    { query: 'query a { __typename } mutation b { watchRetirements { webhookId } }' },
    'BAD_REQUEST',
  ],
  [
    'a name that is not there',
    { query: 'query a { __typename }', operationName: '__proto__' },
    'BAD_REQUEST',
  ],
  ['a page of a million', { query: '{ projects(first: 1000000) { edges { cursor } } }' }, 'BAD_USER_INPUT'],
  [
    'a page of both ends',
    { query: '{ projects(first: 1, last: 1) { edges { cursor } } }' },
    'BAD_USER_INPUT',
  ],
  [
    'a cursor of its own making',
    { query: '{ projects(first: 1, after: "W10") { edges { cursor } } }' },
    'BAD_USER_INPUT',
  ],
  ['an id of its own making', { query: '{ node(id: "../../etc/passwd") { id } }' }, 'BAD_USER_INPUT'],
  [
    'an id of another type in a filter of pages',
    {
      query:
        '{ auditEntries(first: 1, filter: { apiKeyIds: ["UHVyY2hhc2U6MDFhMWZkNjMtNjZjZS03ZGI3LTgyZmUtZWFmMWYzZGZmMWRl"] }) { edges { cursor } } }',
    },
    'BAD_USER_INPUT',
  ],
  [
    'a prototype',
    { query: PURCHASE, variables: JSON.parse('{"input":{"__proto__":{"buyerId":"acme"}}}') as unknown },
    'BAD_USER_INPUT',
  ],
  ['a null byte', purchaseOf({ tokenAddress: 'C\u0000D' }), 'BAD_USER_INPUT'],
  ['a null byte in free text', purchaseOf({ buyerId: 'ac\u0000me' }), 'UNAUTHENTICATED'],
];

/** `[[[…]]]` */
function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  it.each(DOCUMENTS)('%s', async (_what, question, code) => {
    const reply = await askOver(transport, market.url, question);
    expect([...new Set(codesOf(reply))]).toEqual([code]);
    expect(reply.status ?? 400).toBeLessThan(500);
    expect(reply.text).not.toMatch(/node_modules|at \w+ \(|\/src\//);
  });

  it.each([
    ['no sign', '-1'],
    ['no zero', '0'],
    ['no decimals', '1.0'],
    ['no exponent', '1e3'],
    ['no hexadecimal', '0x1'],
    ['no spaces', ' 1'],
    ['no digits of other scripts', '١'],
    ['no fullwidth digits', '１'],
    ['nothing above i128', (2n ** 128n).toString()],
    ['nothing above 64 bits', (2n ** 63n).toString()],
    ['no number beyond a double', 1e21],
    ['no object', { toString: 'x' }],
  ])('an amount has %s', async (_rule, amountCO2e) => {
    const question = { ...purchaseOf({ amountCO2e }), bearer: await tokenOf(buyers) };
    expect(codesOf(await askOver(transport, market.url, question))).toEqual(['BAD_USER_INPUT']);
  });

  it.each([
    ['a control character', 'Acme\u0007'],
    ['a null byte', 'Acme\u0000'],
    ['a bidi override', 'Acme\u202Eemca'],
    ['a lone surrogate', 'Acme\ud800'],
    ['257 bytes', 'é'.repeat(129)],
    ['nothing but spaces', '   '],
  ])('a beneficiary is not %s', async (_what, buyerName) => {
    const reply = await askOver(transport, market.url, {
      query: 'mutation ($input: RetireInput!) { retire(input: $input) { txHash } }',
      variables: {
        input: { buyerId: 'acme', buyerName, tokenAddress: 'C', amountCO2e: 1, idempotencyKey: randomUUID() },
      },
      bearer: await tokenOf(buyers),
    });
    expect(codesOf(reply)).toEqual(['BAD_USER_INPUT']);
  });

  it('says what an operation costs, and lets a page of a hundred with nested fields through', async () => {
    const reply = await askOver(transport, market.url, {
      query: `{ projects(first: 100) { edges { cursor node {
        id books { issued inventory } transactions { txHash state } } } pageInfo { endCursor } } }`,
    });
    expect(reply.errors).toEqual([]);
    expect(reply.extensions).toEqual({ cost: { requested: 1401, limit: 10_000 } });
  });

  it('refuses what is nested deeper than the limit', async () => {
    const deep = { query: '{ projects(first: 1) { edges { node { books { issued } } } } }' };
    const reply = await askOver(transport, closed.url, deep);
    expect(reply.errors[0]?.extensions).toEqual({
      code: 'OPERATION_TOO_LARGE',
      measure: 'DEPTH',
      actual: 5,
      limit: 4,
    });
  });

  it('shows nothing of the schema where it is a secret', async () => {
    const introspection = await askOver(transport, closed.url, { query: '{ __schema { types { name } } }' });
    expect(new Set(codesOf(introspection))).toEqual(new Set(['GRAPHQL_VALIDATION_FAILED']));
    const variable = 'query ($f: ProjectFilter) { projects(first: 1, filter: $f) { edges { cursor } } }';
    const guesses: Question[] = [
      { query: '{ project { id } }' },
      { query: '{ projcts(first: 1) { edges { cursor } } }' },
      { query: '{ projects(frst: 1) { edges { cursor } } }' },
      { query: '{ projects(first: 1, filter: { stte: OPEN }) { edges { cursor } } }' },
      { query: '{ projects(first: 1, filter: { states: [OPNE] }) { edges { cursor } } }' },
      { query: variable, variables: { f: { stte: 'OPEN' } } },
      { query: variable, variables: { f: { state: 'OPNE' } } },
      { query: '{ ... on Qery { __typename } }' },
    ];
    for (const guess of guesses) {
      const reply = await askOver(transport, closed.url, guess);
      expect(reply.errors.length).toBeGreaterThan(0);
      expect(reply.text).not.toContain('Did you mean');
    }
    const useful = await askOver(transport, closed.url, { query: '{ ledgerNetwork { name } }' });
    expect(useful.errors).toEqual([]);
  });
});

describe('what only HTTP can carry', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(market.url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
  const codeOf = async (response: Response) =>
    ((await response.json()) as { errors: { extensions: { code: string } }[] }).errors[0]?.extensions.code;

  it.each([
    ['an array of operations', () => post('[{"query":"{ __typename }"},{"query":"{ __typename }"}]'), 400],
    [
      'a form of another site',
      () => post('query=%7B__typename%7D', { 'content-type': 'application/x-www-form-urlencoded' }),
      415,
    ],
    ['text of another site', () => post('{"query":"{ __typename }"}', { 'content-type': 'text/plain' }), 415],
    ['a file upload', () => post('--x--', { 'content-type': 'multipart/form-data; boundary=x' }), 415],
    [
      'a mutation by GET',
      () => fetch(`${market.url}?query=${encodeURIComponent('mutation { watchRetirements { webhookId } }')}`),
      405,
    ],
    [
      '100 kB and a byte',
      () => post(JSON.stringify({ query: '{ __typename }', variables: { x: 'x'.repeat(100_001) } })),
      413,
    ],
    [
      'a subscription without a stream',
      () => post('{"query":"subscription { retirementFeed { cursor } }"}', { accept: 'application/json' }),
      406,
    ],
  ])('%s', async (_what, send, status) => {
    const response = await send();
    expect(response.status).toBe(status);
    if (status !== 406) expect(await codeOf(response)).toBe('BAD_REQUEST');
  });

  it('takes no address for callbacks from a Host header', async () => {
    const bearer = await tokenOf({ role: 'operator', subject: 'ops' });
    await post('{"query":"mutation { watchRetirements { webhookId } }"}', {
      authorization: `Bearer ${bearer}`,
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
    });
    const { retirementsHookUrl } = market.app.dependencies;
    expect(new URL(retirementsHookUrl).hostname).toBe('127.0.0.1');
  });

  it('answers hooks 200 with nothing, whatever they bring', async () => {
    const base = new URL(market.url).origin;
    const bodies = [
      '',
      '{',
      '[]',
      'null',
      '{"data":{"beneficiary":"x"}}',
      '{"__proto__":{}}',
      'x'.repeat(300_000),
    ];
    for (const path of ['/api/hooks/retirements', '/api/webhooks/payout-settled']) {
      for (const body of bodies) {
        const headers = {
          'x-service-signature': `sha256=${'0'.repeat(64)}`,
          'content-type': 'application/json',
        };
        const response = await fetch(base + path, { method: 'POST', headers, body });
        expect([response.status, await response.text()]).toEqual([200, '']);
      }
    }
  });
});

describe('what only a websocket can carry', () => {
  it.each([
    ['an array of messages', '[{"type":"connection_init"}]', 4400],
    ['no JSON', '{', 4400],
    ['a message of no type', '{}', 4400],
    [
      'a message over 64 kB',
      JSON.stringify({ type: 'connection_init', payload: { x: 'x'.repeat(66_000) } }),
      1009,
    ],
    [
      'an operation before anything else',
      JSON.stringify({ type: 'subscribe', id: '1', payload: { query: '{ __typename }' } }),
      4401,
    ],
  ])('%s', async (_what, message, code) => {
    const socket = new WebSocket(market.url.replace('http', 'ws'), 'graphql-transport-ws');
    socket.once('open', () => socket.send(message));
    expect(await new Promise((resolve) => socket.once('close', resolve))).toBe(code);
  });

  it('another subprotocol is not spoken', async () => {
    const socket = new WebSocket(market.url.replace('http', 'ws'), 'graphql-ws');
    socket.on('error', () => undefined);
    const code = await new Promise((resolve) => socket.once('close', resolve));
    expect([1006, 4406]).toContain(code);
  });
});

it('the network is read a few times, however often strangers ask at once', async () => {
  const { network } = market;
  const { status } = network;
  let reads = 0;
  network.status = () => {
    reads += 1;
    return status();
  };
  try {
    const query = `{ ${many(48, (i) => `a${i}: ledgerNetwork { latestLedger settlementAddress }`)} }`;
    const replies = await Promise.all([1, 2, 3].map(() => askOver('http', market.url, { query })));
    expect(replies.flatMap(codesOf)).toEqual([]);
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThan(10);
  } finally {
    network.status = status;
  }
});
