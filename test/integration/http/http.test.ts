import { request as httpRequest } from 'node:http';
import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, codeOf, type AnswerBody, type TestServer } from '../../support/http/httpServer.ts';

const RESPONSE_JSON = 'application/graphql-response+json';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close(0));

const post: TestServer['post'] = (body, headers) => server.post(body, { accept: RESPONSE_JSON, ...headers });

async function ask(query: string, variables?: unknown): Promise<AnswerBody> {
  return (await (await post({ query, variables })).json()) as AnswerBody;
}

describe('GraphQL over HTTP', () => {
  it.each(serverAudits({ url: () => `${server.url}/graphql` }).map((audit) => [audit.name, audit] as const))(
    'audit: %s',
    async (_name, audit) => {
      expect(await audit.fn()).toMatchObject({ status: 'ok' });
    },
  );

  it.each([RESPONSE_JSON, 'application/json'])('answers in %s', async (accept) => {
    const response = await post({ query: '{ hello }' }, { accept });
    expect(response.headers.get('content-type')).toBe(`${accept}; charset=utf-8`);
    expect(await response.json()).toMatchObject({ data: { hello: 'world' } });
  });

  it('answers in the order of the query, also when a field takes its time', async () => {
    const { data } = await ask('{ a: hello b: later c: hello d: later }');
    expect(JSON.stringify(data)).toBe('{"a":"world","b":"at last","c":"world","d":"at last"}');
  });

  it('answers queries by GET, and no mutations', async () => {
    expect(await (await get({ query: '{ hello }' })).json()).toMatchObject({ data: { hello: 'world' } });
    const mutation = await get({
      query: 'mutation { retire(input: { buyerId: "a", amountCO2e: 1, buyerName: "b" }) }',
    });
    expect(mutation.status).toBe(405);
    expect(await codeOf(mutation)).toBe('BAD_REQUEST');
    const invalid = await get({ query: 'mutation { retire(input: { buyerId: "a" }) }' });
    expect(invalid.status).toBe(405);
    expect(await codeOf(invalid)).toBe('BAD_REQUEST');
    const broken = await get({ query: '{ hello }', variables: '{' });
    expect(broken.status).toBe(400);
    expect(await codeOf(broken)).toBe('BAD_REQUEST');
  });

  it.each([
    ['application/x-www-form-urlencoded', 'query=%7Bhello%7D'],
    ['text/plain', '{"query":"{ hello }"}'],
    ['application/graphql', '{ hello }'],
    ['application/graphql+json', '{"query":"{ hello }"}'],
    ['multipart/form-data; boundary=x', '--x--'],
  ])('reads no body of type %s, which a page of another site could send', async (type, body) => {
    const response = await post(body, { 'content-type': type });
    expect(response.status).toBe(415);
    const [error] = ((await response.json()) as { errors: { message: string; extensions: object }[] }).errors;
    expect(error?.extensions).toMatchObject({ code: 'BAD_REQUEST' });
    expect(error?.message).toContain(`must have the content type application/json, but has "${type}"`);
  });

  it.each(['gzip', 'br', 'gzip, identity'])('reads no body in %s, and says so', async (encoding) => {
    const response = await post({ query: '{ hello }' }, { 'content-encoding': encoding });
    expect([response.status, response.headers.get('accept-encoding')]).toEqual([415, 'identity']);
    expect(await response.json()).toMatchObject({
      errors: [
        {
          message: `The body has the content-encoding "${encoding}". Send it as it is, without one.`,
          extensions: { code: 'BAD_REQUEST' },
        },
      ],
    });
  });

  it('reads a body that says that it is as it is', async () => {
    const response = await post({ query: '{ hello }' }, { 'content-encoding': 'identity' });
    expect(await response.json()).toMatchObject({ data: { hello: 'world' } });
  });

  it.each([
    ['an array of operations', [{ query: '{ hello }' }]],
    ['no JSON', '{'],
    ['a JSON text', '"hello"'],
    ['nothing', ''],
    ['no query', { variables: {} }],
    ['a query that is no text', { query: 7 }],
    ['variables that are no object', { query: '{ hello }', variables: [1] }],
    ['an unknown operation name', { query: 'query A { hello }', operationName: 'B' }],
    ['an unknown parameter', { query: '{ hello }', secret: 1 }],
  ])('refuses %s', async (_what, body) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await codeOf(response)).toBe('BAD_REQUEST');
  });

  it('refuses a document of too many tokens before validating it', async () => {
    const { errors } = await ask(`{ ${'hello '.repeat(3000)} }`);
    expect(errors?.[0]?.extensions['code']).toBe('GRAPHQL_PARSE_FAILED');
    expect(errors?.[0]?.message).toContain('2000');
  });

  it.each([
    ['declared', 200_000, {}],
    ['declared as huge', 50_000_000, {}],
    ['chunked', 200_000, { 'transfer-encoding': 'chunked' }],
    ['chunked and endless', 3_000_000, { 'transfer-encoding': 'chunked' }],
  ])('answers a body over 100 kB, %s, with 413', async (_how, byteLength, headers) => {
    const { status, body } = await postSlowly(byteLength, headers);
    expect(status).toBe(413);
    expect((JSON.parse(body) as AnswerBody).errors?.[0]?.extensions['code']).toBe('BAD_REQUEST');
    expect(await ask('{ hello }')).toMatchObject({ data: { hello: 'world' } });
  });

  it('reads a small chunked body', async () => {
    const { status, body } = await postSlowly(0, { 'transfer-encoding': 'chunked' }, '{"query":"{ hello }"}');
    expect([status, JSON.parse(body)]).toMatchObject([200, { data: { hello: 'world' } }]);
  });
});

/** Sends `byteLength` bytes, and accepts the answer even before the end of the body. */
function postSlowly(byteLength: number, headers: Record<string, string>, text = 'x'.repeat(byteLength)) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const declared = 'transfer-encoding' in headers ? {} : { 'content-length': text.length };
    const request = httpRequest(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...declared, ...headers },
    });
    let answered = false;
    request.on('response', (response) => {
      answered = true;
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.on('error', (error) => {
      if (!answered) reject(error);
    });
    if (byteLength <= 5_000_000) request.end(text);
    else request.write('x');
  });
}

function get(parameters: Record<string, string>) {
  return fetch(`${server.url}/graphql?${new URLSearchParams(parameters)}`, {
    headers: { accept: RESPONSE_JSON },
  });
}
