/**
 * A POST on the short way (directPost.ts) is answered exactly as by yoga: the same requests go to two
 * servers, and to the second with an address that only yoga takes.
 */
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANY_DOCUMENT, createDocumentSource } from '../../../src/http/documents/documentSource.ts';
import { createDirectPost } from '../../../src/http/graphql/directPost.ts';
import { newContext } from '../../../src/http/graphql/transportContext.ts';
import { startServer, token, type TestServer, testLimits } from '../../support/http/httpServer.ts';

interface Sent {
  headers?: Record<string, string>;
  body: string;
}

interface Got {
  status: number;
  headers: Record<string, string>;
  body: string;
}

const ACCEPTS = [
  undefined,
  '*/*',
  'application/json',
  'application/graphql-response+json',
  'application/graphql-response+json, application/json',
  'application/graphql-response+json,application/json;q=0.9',
  'text/html',
  'application/xml',
];

const json = (params: unknown): string => JSON.stringify(params);

const RETIRE = 'mutation Retire($input: RetireInput!) { retire(input: $input) }';
const retirement = { buyerId: 'acme', buyerName: 'Acme "Airlines" ✈', amountCO2e: 250 };

/** Each body has its own document; a document that has run before takes the short way. */
const BODIES: Record<string, string> = {
  'a query': json({ query: '{ hello }' }),
  __typename: json({ query: '{ __typename }' }),
  'a query that waits': json({ query: '{ later hello }' }),
  'a list of values': json({ query: '{ hello crates { tonnes label none __typename } }' }),
  'a list with an error in it': json({ query: '{ crates { label origin } hello }' }),
  'a query with variables': json({
    query: 'query T($a: Tonnes!) { tonnes(amount: $a) }',
    variables: { a: '12' },
  }),
  'variables that are missing': json({ query: 'query T($a: Tonnes!) { tonnes(amount: $a) }' }),
  'variables that are wrong': json({
    query: 'query T($a: Tonnes!) { tonnes(amount: $a) }',
    variables: { a: -1 },
  }),
  'variables of null': json({ query: '{ hello }', variables: null, operationName: null, extensions: null }),
  'variables that are a list': json({ query: '{ hello }', variables: [1] }),
  'variables that are a text': json({ query: '{ hello }', variables: '{}' }),
  'who the caller is': json({ query: '{ whoami }' }),
  'for operators': json({ query: '{ hello operators }' }),
  'a mutation': json({ query: RETIRE, variables: { input: retirement } }),
  "another buyer's mutation": json({
    query: RETIRE,
    variables: { input: { ...retirement, buyerId: 'other' } },
  }),
  'an invalid mutation': json({ query: RETIRE, variables: { input: { ...retirement, buyerName: '' } } }),
  'a mutation without input': json({ query: RETIRE, variables: {} }),
  'a refusal': json({ query: '{ hello fail(how: "domain") }' }),
  "the network's refusal": json({ query: '{ fail(how: "refusal") }' }),
  'a network that is away': json({ query: '{ fail(how: "unavailable") }' }),
  'a defect': json({ query: '{ hello fail(how: "defect") }' }),
  'one of two operations': json({ query: 'query A { hello } query B { whoami }', operationName: 'A' }),
  'the other of two operations': json({ query: 'query A { hello } query B { whoami }', operationName: 'B' }),
  'none of two operations': json({ query: 'query A { hello } query B { whoami }' }),
  'an operation that is not there': json({
    query: 'query A { hello } query B { whoami }',
    operationName: 'C',
  }),
  'a name that is no text': json({ query: '{ hello }', operationName: 7 }),
  'an introspection': json({ query: '{ __schema { queryType { name } } }' }),
  'a subscription': json({ query: 'subscription { ticks(count: 1) }' }),
  'a syntax error': json({ query: '{ hello' }),
  'an unknown field': json({ query: '{ helo }' }),
  'no query': json({ variables: {} }),
  'a query that is no text': json({ query: 7 }),
  'an unknown parameter': json({ query: '{ hello }', more: 1 }),
  'an unknown parameter of null': json({ query: '{ hello }', more: null }),
  'a persisted query': json({
    query: '{ hello }',
    extensions: { persistedQuery: { version: 1, sha256Hash: 'wrong' } },
  }),
  'other extensions': json({ query: '{ hello }', extensions: { traced: true } }),
  'a document by its id': json({ documentId: 'unknown' }),
  __proto__: '{"query":"{ hello }","__proto__":{"a":1}}',
  'a list': json([{ query: '{ hello }' }]),
  null: 'null',
  'a number': '7',
  nothing: '',
  'no JSON': '{"query":',
  'a text with every kind of character': json({ query: '{ fail(how: "\\u0000 ☃ 𝄞") }' }),
};

const OTHER_HEADERS: Record<string, Record<string, string>> = {
  'with a charset': { 'content-type': 'application/json; charset=utf-8' },
  'with another charset': { 'content-type': 'application/json; charset=iso-8859-1' },
  'of another type': { 'content-type': 'text/plain' },
  'as a graphql document': { 'content-type': 'application/graphql' },
  'from another origin': { 'content-type': 'application/json', origin: 'https://evil.example' },
  'from an allowed origin': { 'content-type': 'application/json', origin: 'https://app.example' },
  'in an encoding': { 'content-type': 'application/json', 'content-encoding': 'identity' },
};

let direct: TestServer;
let throughYoga: TestServer;

const BEYOND = 1_000_000;
const settings = {
  allowedOrigins: ['https://app.example', 'https://other.example'],
  limits: {
    ...testLimits(),
    RATE_LIMIT_ADDRESS_PER_MINUTE: BEYOND,
    RATE_LIMIT_CALLER_PER_MINUTE: BEYOND,
    RATE_LIMIT_MUTATIONS_PER_MINUTE: BEYOND,
    RATE_LIMIT_REFUSED_CREDENTIALS_PER_MINUTE: BEYOND,
    MAX_CPU_PERCENT_PER_ADDRESS: BEYOND,
  },
};

beforeAll(async () => {
  [direct, throughYoga] = await Promise.all([startServer(settings), startServer(settings)]);
});

afterAll(async () => {
  await Promise.all([direct.close(0), throughYoga.close(0)]);
});

/** Asks each server twice: the second time the server knows the document. */
async function askBoth(sent: Sent, servers = { direct, throughYoga }): Promise<[Got, Got]> {
  const ask = async (server: TestServer, path: string) => {
    await post(server, path, sent);
    return post(server, path, sent);
  };
  return Promise.all([ask(servers.direct, '/graphql'), ask(servers.throughYoga, '/graphql?')]);
}

function post(server: TestServer, path: string, sent: Sent): Promise<Got> {
  return send(server.url, path, sent);
}

function send(url: string, path: string, { headers, body }: Sent): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      `${url}${path}`,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...headers,
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => (text += part));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Record<string, string>,
            body: text,
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/**
 * Removes the allowed differences: the date, the request's id, the way the length is given, and the state of
 * a window that began at another moment.
 */
function comparable({ status, headers, body }: Got): Got {
  const {
    date: _date,
    'content-length': _length,
    'transfer-encoding': _encoding,
    'x-request-id': id = 'none',
    ...rest
  } = headers;
  const timeless = (text: string) =>
    text
      .replaceAll(id, '…')
      .replaceAll(/([rt])=\d+/g, '$1=…')
      .replaceAll(/try again in \d+ s|"retryAfterSeconds":\d+/g, '…');
  const kept = Object.entries(rest).map(([name, value]) => [
    name,
    name === 'retry-after' ? '…' : timeless(value),
  ]);
  return { status, headers: Object.fromEntries(kept) as Got['headers'], body: timeless(body) };
}

function isParseable(source: string): boolean {
  try {
    parse(source);
    return true;
  } catch {
    return false;
  }
}

describe('the same answer both ways', () => {
  const callers: Record<string, () => Promise<Record<string, string>>> = {
    'the public': async () => ({}),
    'a buyer': async () => ({ authorization: `Bearer ${await token(['buyer'])}` }),
    'an operator': async () => ({ authorization: `Bearer ${await token(['operator'])}` }),
    'an expired token': async () => ({
      authorization: `Bearer ${await token(['buyer'], { expiresInSeconds: -60 })}`,
    }),
    'a token that is none': async () => ({ authorization: 'Bearer garbage' }),
    'no bearer': async () => ({ authorization: 'Basic YWNtZQ==' }),
  };

  it.each(Object.keys(BODIES))('to %s, for each form of the answer', async (name) => {
    const headers = await callers['a buyer']?.();
    for (const accept of ACCEPTS) {
      const [short, long] = await askBoth({
        headers: { ...headers, ...(accept === undefined ? {} : { accept }) },
        body: BODIES[name] ?? '',
      });
      expect(comparable(short), accept).toEqual(comparable(long));
    }
  });

  it.each(Object.entries(callers))('to %s', async (_name, headersOf) => {
    const headers = await headersOf();
    for (const body of Object.values(BODIES)) {
      const [short, long] = await askBoth({ headers, body });
      expect(comparable(short), body).toEqual(comparable(long));
    }
  });

  it.each(Object.entries(OTHER_HEADERS))('%s', async (_name, headers) => {
    const [short, long] = await askBoth({ headers, body: BODIES['a query'] ?? '' });
    expect(comparable(short)).toEqual(comparable(long));
  });

  it.each([
    ['a query', ['data', 'extensions']],
    // A client that reads a large answer progressively sees the failure first.
    ['a defect', ['errors', 'data', 'extensions']],
    ['variables that are wrong', ['errors']],
  ])('whose members to %s are in the order that the specification advises', async (name, members) => {
    for (const { body } of await askBoth({ body: BODIES[name] ?? '' }))
      expect(Object.keys(JSON.parse(body) as object)).toEqual(members);
  });

  it('beyond a rate limit', async () => {
    const limits = {
      ...testLimits(),
      RATE_LIMIT_MUTATIONS_PER_MINUTE: 3,
      RATE_LIMIT_CALLER_PER_MINUTE: 8,
    };
    const servers = { direct: await startServer({ limits }), throughYoga: await startServer({ limits }) };
    const headers = { authorization: `Bearer ${await token(['buyer'])}` };
    const statuses = new Set<number>();
    for (let i = 0; i < 5; i++) {
      const [short, long] = await askBoth({ headers, body: BODIES['a mutation'] ?? '' }, servers);
      expect(comparable(short)).toEqual(comparable(long));
      statuses.add(short.status);
    }
    expect(statuses).toContain(429);
    await Promise.all([servers.direct.close(0), servers.throughYoga.close(0)]);
  });

  it('beyond the limit of a caller, which the log names', async () => {
    const limits = { ...testLimits(), RATE_LIMIT_CALLER_PER_MINUTE: 1 };
    const headers = { authorization: `Bearer ${await token(['buyer'])}` };
    for (const path of ['/graphql', '/graphql?']) {
      const server = await startServer({ limits });
      const sent = { headers, body: BODIES['a query'] ?? '' };
      const statuses = [await post(server, path, sent), await post(server, path, sent)].map(
        ({ status }) => status,
      );
      expect([path, ...statuses]).toEqual([path, 200, 429]);
      const [, refused] = server.operations.map(({ fields: { outcome, caller } }) => [outcome, caller]);
      expect(refused).toEqual(['RATE_LIMITED', 'acme']);
      await server.close(0);
    }
  });

  it('to a body beyond the limit', async () => {
    const [short, long] = await askBoth({
      body: json({ query: '{ hello }', variables: { more: 'x'.repeat(100_000) } }),
    });
    expect(comparable(short)).toEqual(comparable(long));
    expect(short.status).toBe(413);
  });
});

describe('the short way', () => {
  it('is taken by what is validated, and by nothing else', async () => {
    const executed: string[] = [];
    const validated = new Map(
      Object.values(BODIES).flatMap((body) => {
        const query = /^\{"query":("(?:[^"\\]|\\.)*")/.exec(body)?.[1];
        const source = query === undefined ? '' : (JSON.parse(query) as string);
        return isParseable(source) ? [[source, parse(source)] as const] : [];
      }),
    );
    const post = createDirectPost({
      path: '/graphql',
      gate: { enter: async () => {} },
      documents: createDocumentSource(ANY_DOCUMENT),
      validated,
      execute: async ({ document }) => {
        executed.push(document.loc?.source.body ?? '');
        return { data: {} };
      },
    });
    const server = createServer((request, response) => {
      const about = { requestId: '', remoteAddress: '', transport: 'http' as const };
      const context = newContext({ ...about, whenSent: () => undefined });
      void post({ request, response, headers: [], prepare: () => undefined }, context).then(
        (isAnswered) => isAnswered || response.end('yoga'),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const directly: string[] = [];
    for (const [name, body] of Object.entries(BODIES)) {
      const got = await send(url, '/graphql', { body });
      if (got.body !== 'yoga') directly.push(name);
    }
    expect(directly).toEqual([
      'a query',
      '__typename',
      'a query that waits',
      'a list of values',
      'a list with an error in it',
      'a query with variables',
      'variables that are missing',
      'variables that are wrong',
      'who the caller is',
      'for operators',
      'a mutation',
      "another buyer's mutation",
      'an invalid mutation',
      'a mutation without input',
      'a refusal',
      "the network's refusal",
      'a network that is away',
      'a defect',
      'one of two operations',
      'the other of two operations',
      'an introspection',
      // An invalid document is never known.
      'an unknown field',
      'a text with every kind of character',
    ]);
    expect(executed).toHaveLength(directly.length);
    for (const headers of Object.values(OTHER_HEADERS).slice(1)) {
      expect((await send(url, '/graphql', { headers, body: BODIES['a query'] ?? '' })).body).toBe('yoga');
    }
    server.close();
  });

  it('logs the same line, with the request and its caller', async () => {
    const headers = { authorization: `Bearer ${await token(['buyer'])}` };
    const lines: unknown[] = [];
    for (const [server, path] of [
      [direct, '/graphql'],
      [throughYoga, '/graphql?'],
    ] as const) {
      const sent = { headers: { ...headers, 'x-request-id': 'the-same' }, body: BODIES['a mutation'] ?? '' };
      await post(server, path, sent);
      const answer = await post(server, path, sent);
      const { fields, message } = server.operations.at(-1) ?? {};
      expect(fields?.['requestId']).toBe(answer.headers['x-request-id']);
      lines.push({ ...fields, requestId: '', durationMs: 0, message });
    }
    expect(lines[0]).toEqual(lines[1]);
    expect(lines[0]).toMatchObject({
      caller: 'acme',
      clientRequestId: 'the-same',
      outcome: 'OK',
      type: 'mutation',
    });
  });
});
