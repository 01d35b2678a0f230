/**
 * Documents that a request names by an id: Apollo's automatic persisted queries, and trusted documents.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, print } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { readTrustedDocuments } from '../../../src/http/documents/trustedDocuments.ts';
import { startServer, token, type TestServer } from '../../support/http/httpServer.ts';

interface Body {
  data?: unknown;
  errors?: { message: string; extensions: Record<string, unknown> }[];
  extensions?: Record<string, unknown>;
}
interface Reply {
  status: number;
  body: Body;
}
type Params = Record<string, unknown>;

const RESPONSE_JSON = 'application/graphql-response+json';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const persisted = (sha256Hash: string, version = 1) => ({
  extensions: { persistedQuery: { version, sha256Hash } },
});

async function post(server: TestServer, body: Params, headers: Record<string, string> = {}): Promise<Reply> {
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: RESPONSE_JSON, ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

async function get(server: TestServer, params: Params): Promise<Reply> {
  const texts = Object.entries(params).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const url = `${server.url}/graphql?${new URLSearchParams(Object.fromEntries(texts))}`;
  const response = await fetch(url, { headers: { accept: RESPONSE_JSON } });
  return { status: response.status, body: (await response.json()) as Body };
}

async function sse(server: TestServer, body: Params): Promise<Reply> {
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(body),
  });
  const event = /^data: (\{.*)$/m.exec(await response.text())?.[1] ?? 'null';
  return { status: response.status, body: JSON.parse(event) as Body };
}

/** Six hundred levels deep, but below the limits on tokens and on fields of the same name. */
const DEEP = `${Array.from({ length: 600 }, (_, at) => `{ n${at % 20}`).join(' ')}${' }'.repeat(600)}`;

/** The first message of a websocket about an operation. */
function socket(server: TestServer, payload: Params): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const client = new WebSocket(server.wsUrl, 'graphql-transport-ws');
    client.on('error', reject);
    client.on('open', () => client.send('{"type":"connection_init"}'));
    client.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { type: string; payload: Body };
      if (message.type === 'connection_ack') {
        client.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query: '', ...payload } }));
        return;
      }
      const body = message.type === 'error' ? ({ errors: message.payload } as Body) : message.payload;
      resolve({ status: 0, body });
      client.close();
    });
  });
}

/** CPU time of this process in the shortest of some runs. Other threads and a busy machine lengthen it. */
function leastCpuMs(work: () => void): number {
  const runs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...runs);
}

function codeOf({ body }: Reply): unknown {
  return body.errors?.[0]?.extensions['code'];
}

describe('an automatic persisted query', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.close(0));

  it('is unknown, is sent once with its text, and then runs by its hash, by POST and GET', async () => {
    const query = 'query Greeting { hello }';
    const hash = persisted(sha256(query));
    const first = await get(server, hash);
    expect(first.body.errors?.[0]).toMatchObject({
      message: 'PersistedQueryNotFound',
      extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' },
    });
    expect((await get(server, { query, ...hash })).body.data).toEqual({ hello: 'world' });
    for (const ask of [get, post, sse, socket]) {
      const reply = await ask(server, hash);
      expect(reply.body, ask.name).toMatchObject({ data: { hello: 'world' } });
    }
    expect((await get(server, hash)).body.extensions).toMatchObject({ cost: { requested: 1 } });
  });

  it('is kept for every transport, whichever it came over', async () => {
    for (const [at, ask] of [post, sse, socket].entries()) {
      const query = `query Over${at} { hello }`;
      const hash = persisted(sha256(query));
      expect(codeOf(await ask(server, hash)), ask.name).toBe('PERSISTED_QUERY_NOT_FOUND');
      await ask(server, { query, ...hash });
      expect((await post(server, hash)).body.data, ask.name).toEqual({ hello: 'world' });
    }
  });

  it.each([
    ['application/json', 200],
    [RESPONSE_JSON, 400],
  ])('that is unknown is answered so that clients of %s read it', async (accept, status) => {
    expect((await post(server, persisted(sha256('{ no }')), { accept })).status).toBe(status);
  });

  it('is refused when its hash is that of another text', async () => {
    const query = '{ hello }';
    const wrong = await post(server, { query, ...persisted(sha256('{ whoami }')) });
    expect([wrong.status, codeOf(wrong)]).toEqual([400, 'BAD_REQUEST']);
    // The answer names the right hash, for clients whose text differs from the one hashed at their build.
    expect(JSON.stringify(wrong)).toContain(sha256(query));
    expect(codeOf(await post(server, persisted(sha256('{ whoami }'))))).toBe('PERSISTED_QUERY_NOT_FOUND');
  });

  it('by a documentId is not supported where no document is trusted, and clients send the text', async () => {
    for (const ask of [post, get, sse, socket]) {
      const { body } = await ask(server, { documentId: 'abc123' });
      expect(body.errors?.[0], ask.name).toMatchObject({
        message: 'PersistedQueryNotSupported',
        extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED', documentId: 'abc123' },
      });
    }
  });

  it.each([
    ['another version', persisted(sha256('{ hello }'), 2)],
    ['no hash', { extensions: { persistedQuery: { version: 1 } } }],
    ['a hash that is none', persisted('<script>')],
    ['no object', { extensions: { persistedQuery: 'x' } }],
    ['an id that is none', { documentId: 7 }],
    ['an id and a text', { documentId: 'x', query: '{ hello }' }],
  ])('with %s is a bad request', async (_what, params) => {
    for (const ask of [post, socket]) expect(codeOf(await ask(server, params)), ask.name).toBe('BAD_REQUEST');
  });

  it('is not kept when it is not valid', async () => {
    const query = '{ goodbye }';
    const hash = persisted(sha256(query));
    expect(codeOf(await post(server, { query, ...hash }))).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(codeOf(await post(server, hash))).toBe('PERSISTED_QUERY_NOT_FOUND');
  });

  it('has the limits of its text: a mutation does not run by GET', async () => {
    const query = 'mutation { retire(input: { buyerId: "acme", amountCO2e: 1, buyerName: "b" }) }';
    const hash = persisted(sha256(query));
    const authorization = `Bearer ${await token(['operator'])}`;
    expect((await post(server, { query, ...hash }, { authorization })).body.data).toBeTruthy();
    expect((await get(server, hash)).status).toBe(405);
  });

  it('is forgotten when too many others were kept since', async () => {
    const query = 'query First { hello }';
    const hash = persisted(sha256(query));
    await post(server, { query, ...hash });
    // 110 texts of 80 kB exceed the 8 MB that are kept; comments count as text.
    for (let at = 0; at < 110; at += 1) {
      const filler = `query Filler { hello } # ${String(at).padEnd(80_000, 'x')}`;
      expect((await post(server, { query: filler, ...persisted(sha256(filler)) })).status).toBe(200);
    }
    expect(codeOf(await post(server, hash))).toBe('PERSISTED_QUERY_NOT_FOUND');
  });
});

describe('trusted documents', () => {
  let folder: string;
  let server: TestServer;
  const ofCodegen = 'query Hello {\n  hello\n}';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'documents-'));
    await writeFile(join(folder, 'persisted-documents.json'), JSON.stringify({ abc123: ofCodegen }));
    await writeFile(join(folder, 'fragments.graphql'), 'fragment Who on Query { whoami }');
    await writeFile(
      join(folder, 'greeting.graphql'),
      '# First\nfragment Greeting on Query { ...Hi } query Greet { ...Greeting }',
    );
    await writeFile(join(folder, 'hi.graphql'), 'fragment Hi on Query { hello }');
    await writeFile(
      join(folder, 'operations.graphql'),
      'query Who { ...Who } query Both { a: hello b: hello } subscription Ticks { ticks(count: 1) } ' +
        'mutation Two { a: retire(input: { buyerId: "a", amountCO2e: 1, buyerName: "A" }) ' +
        'b: retire(input: { buyerId: "a", amountCO2e: 2, buyerName: "A" }) }',
    );
    const inOrder =
      '{ a: retire(input: { buyerId: "a", amountCO2e: 1, buyerName: "A" }) ' +
      'b: retire(input: { buyerId: "a", amountCO2e: 2, buyerName: "A" }) }';
    await writeFile(
      join(folder, 'parts.json'),
      JSON.stringify({
        parts: `mutation Parts { ...Rest } fragment Rest on Mutation ${inOrder}`,
        inline: `mutation Inline { ... ${inOrder} }`,
        conditional: `mutation Inline { ... on Mutation ${inOrder} }`,
      }),
    );
    const manifest = {
      format: 'apollo-persisted-query-manifest',
      version: 1,
      operations: [{ id: 'of-apollo', name: 'Later', type: 'query', body: 'query Later { later }' }],
    };
    await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
    const trusted = await readTrustedDocuments(folder);
    server = await startServer({ documents: { trusted, trustedOnly: true } });
  });
  afterAll(async () => {
    await server.close(0);
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    ['codegen', { documentId: 'abc123' }, { hello: 'world' }],
    ['codegen, as a persisted query', persisted('abc123'), { hello: 'world' }],
    ['Apollo', persisted('of-apollo'), { later: 'at last' }],
    ['a .graphql file', { documentId: sha256('subscription Ticks {\n  ticks(count: 1)\n}') }, { ticks: '1' }],
    [
      '.graphql files, as graphql-js prints the operation and then its fragments',
      {
        documentId: sha256(
          print(
            parse('query Greet{...Greeting} fragment Greeting on Query{...Hi} fragment Hi on Query{hello}'),
          ),
        ),
      },
      { hello: 'world' },
    ],
  ])('run by the id of %s', async (_whose, params, data) => {
    const asks = 'ticks' in data ? [sse, socket] : [post, get, sse, socket];
    for (const ask of asks) expect((await ask(server, params)).body, ask.name).toMatchObject({ data });
  });

  it.each([
    ['as they are', ofCodegen],
    ['in another layout', 'query   Hello{hello}'],
    ['with the __typename of a cache', 'query Hello { hello __typename }'],
    ['with fields in another order', 'query Both { b: hello a: hello }'],
    ['with fragments in another order', 'fragment Who on Query { whoami } query Who { ...Who }'],
  ])('run by their text, %s', async (_how, query) => {
    for (const ask of [post, get, sse, socket]) {
      const reply = await ask(server, { query });
      expect(codeOf(reply), ask.name).not.toBe('DOCUMENT_NOT_TRUSTED');
      expect(reply.body.data, ask.name).toBeDefined();
    }
  });

  it.each([
    ['another operation', 'query Hello { later }'],
    ['a trusted operation and another', `${ofCodegen} query More { later }`],
    ['an alias that is called __typename', 'query Hello { hello x: __typename }'],
    [
      'a mutation in another order',
      'mutation Two { b: retire(input: { buyerId: "a", amountCO2e: 2, buyerName: "A" }) ' +
        'a: retire(input: { buyerId: "a", amountCO2e: 1, buyerName: "A" }) }',
    ],
    [
      'a mutation whose fragment is in another order',
      'mutation Parts { ...Rest } fragment Rest on Mutation { b: retire(input: { buyerId: "a", amountCO2e: 2, buyerName: "A" }) ' +
        'a: retire(input: { buyerId: "a", amountCO2e: 1, buyerName: "A" }) }',
    ],
    ...['...', '... on Mutation'].map((part) => [
      `a mutation whose ${part} { } is in another order`,
      `mutation Inline { ${part} { b: retire(input: { buyerId: "a", amountCO2e: 2, buyerName: "A" }) ` +
        'a: retire(input: { buyerId: "a", amountCO2e: 1, buyerName: "A" }) } }',
    ]),
    ['another name', 'query Hallo { hello }'],
    ['a document that is deep', DEEP],
    ['no GraphQL', 'hello'],
    ['introspection', '{ __schema { types { name } } }'],
  ])('keep out %s, on every transport', async (_what, query) => {
    for (const ask of [post, get, sse, socket]) {
      expect(codeOf(await ask(server, { query })), ask.name).toBe('DOCUMENT_NOT_TRUSTED');
      const withHash = await ask(server, { query, ...persisted(sha256(query)) });
      expect(codeOf(withHash), ask.name).toBe('DOCUMENT_NOT_TRUSTED');
    }
    expect((await post(server, { query })).status).toBe(403);
  });

  it('keep out a deep document with no more work than a flat one', async () => {
    const trusted = await readTrustedDocuments(folder);
    const flat = `{ ${Array.from({ length: 300 }, (_, at) => `n${at % 20} { m${at % 20} }`).join(' ')} }`;
    const leastMs = (text: string) => leastCpuMs(() => expect(trusted.hasText(text)).toBe(false));
    await expect.poll(() => leastMs(DEEP) / leastMs(flat)).toBeLessThan(20);
  });

  it('remember a text in another layout', async () => {
    const trusted = await readTrustedDocuments(folder);
    const leastMs = (text: string) =>
      leastCpuMs(() => {
        for (let at = 0; at < 500; at += 1) trusted.hasText(text);
      });
    const refused = 'query Bath { a: hello b: hello }';
    await expect
      .poll(() => leastMs('query Both { b: hello a: hello }') / leastMs(refused))
      .toBeLessThan(1 / 5);
  });

  it('answer an unknown hash so that clients send the text', async () => {
    for (const ask of [post, get, sse, socket]) {
      const { body } = await ask(server, persisted(sha256(ofCodegen)));
      expect(body.errors?.[0]).toMatchObject({
        message: 'PersistedQueryNotSupported',
        extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED', documentId: sha256(ofCodegen) },
      });
    }
  });

  it('run by id beside all others where any document may run', async () => {
    const trusted = await readTrustedDocuments(join(folder, 'persisted-documents.json'));
    const open = await startServer({ documents: { trusted, trustedOnly: false } });
    expect((await post(open, { documentId: 'abc123' })).body.data).toEqual({ hello: 'world' });
    expect((await post(open, { query: '{ later }' })).body.data).toEqual({ later: 'at last' });
    await open.close(0);
  });
});

describe('a folder of trusted documents', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'documents-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each([
    ['missing.json', null, 'no such file'],
    ['not.json', '{', 'is not JSON'],
    ['list.json', '[1]', 'must be an object of ids with documents'],
    ['broken.json', '{"a":"query {"}', 'document a: Syntax Error'],
    ['broken.graphql', 'query {', 'broken.graphql: Syntax Error'],
    ['empty.json', '{}', 'there is no document'],
  ])('is refused at the start: %s', async (name, text, problem) => {
    const path = join(folder, name);
    if (text !== null) await writeFile(path, text);
    await expect(readTrustedDocuments(path)).rejects.toThrow(problem);
  });
});
