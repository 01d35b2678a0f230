import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGraphiqlPage } from '../../../src/http/pages/graphiql.ts';
import type { GraphiqlExample } from '../../../src/schema/core/example.ts';
import type { HookDelivery } from '../../../src/http/server/hooks.ts';
import type { Role } from '../../../src/identity/roles.ts';
import { startServer, codeOf, token, type TestServer } from '../../support/http/httpServer.ts';

let server: TestServer;
const deliveries: HookDelivery[] = [];

beforeAll(async () => {
  server = await startServer({
    hooks: {
      retirements: async (delivery) => {
        deliveries.push(delivery);
      },
      payoutSettled: async () => {
        throw new Error('the database is down');
      },
    },
  });
});

afterAll(() => server.close(0));

const post: TestServer['post'] = (...request) => server.post(...request);

async function idFor(given: string) {
  return (await post({ query: '{ hello }' }, { 'x-request-id': given })).headers.get('x-request-id');
}

function deliver(path: string, body: string | Buffer, headers: Record<string, string> = {}) {
  const bytes = typeof body === 'string' ? body : new Uint8Array(body);
  return fetch(server.url + path, { method: 'POST', body: bytes, headers });
}

describe('the server', () => {
  it("names each request itself, and logs the client's own id beside, where that is safe to print", async () => {
    const loggedWith = (requestId: string | null) =>
      server.operations.find(({ fields }) => fields['requestId'] === requestId)?.fields['clientRequestId'];
    for (const given of ['abc-123', 'abc-123', 'a b<script>', 'x'.repeat(65)]) {
      const requestId = await idFor(given);
      expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
      expect(loggedWith(requestId)).toBe(given === 'abc-123' ? given : undefined);
    }
  });

  it.each(['/graphql?query=%7Bhello%7D', '/nowhere', '/healthz'])(
    'sets security headers at %s',
    async (path) => {
      const { headers } = await fetch(server.url + path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    },
  );

  it('answers JSON where there is nothing', async () => {
    const response = await fetch(`${server.url}/nowhere`);
    expect(response.status).toBe(404);
    expect(await codeOf(response)).toBe('NOT_FOUND');
  });

  it.each(['Application/JSON', 'application/json ; charset=utf-8', 'application/json;charset="UTF-8"'])(
    'takes JSON whose type is written as %s',
    async (type) => {
      const response = await post({ query: '{ hello }' }, { 'content-type': type });
      expect([response.status, await response.json()]).toMatchObject([200, { data: { hello: 'world' } }]);
    },
  );

  it.each(['/graphql', '/graphql?'])('refuses a body in another encoding than UTF-8 at %s', async (path) => {
    const query = 'mutation ($input: RetireInput!) { retire(input: $input) }';
    const input = { buyerId: 'acme', buyerName: 'Müller', amountCO2e: 1 };
    const authorization = `Bearer ${await token(['buyer'])}`;
    const send = async (encoding: BufferEncoding) => {
      const body = Buffer.from(JSON.stringify({ query, variables: { input } }), encoding);
      const headers = { 'content-type': 'application/json', authorization };
      const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, body });
      return [response.status, await response.text()];
    };
    // The second request takes the short way.
    for (let i = 0; i < 2; i++) expect(await send('utf8')).toEqual([200, expect.stringContaining('Müller')]);
    expect(await send('latin1')).toEqual([400, expect.stringMatching(/UTF-8.*BAD_REQUEST/)]);
  });

  it('shows pages of other origins its answers only when they are allowed', async () => {
    const origin = 'https://app.test';
    const closed = await post({ query: '{ hello }' }, { origin });
    expect(closed.headers.get('access-control-allow-origin')).toBeNull();
    const open = await startServer({ allowedOrigins: [origin] });
    const preflight = await fetch(`${open.url}/graphql`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
    const allowed = preflight.headers.get('access-control-allow-headers');
    for (const name of ['apollo-require-preflight', 'apollographql-client-name', 'traceparent', 'baggage']) {
      expect(allowed).toContain(name);
    }
    await open.close(0);
  });

  it('shows them to no page of another origin, sandboxed ones included, when several are allowed', async () => {
    const allowedOrigins = ['https://app.test', 'https://other.test'];
    const several = await startServer({ allowedOrigins });
    const shownTo = async (origin: string) => {
      const answer = await several.post({ query: '{ hello }' }, { origin });
      return answer.headers.get('access-control-allow-origin');
    };
    expect(await Promise.all(allowedOrigins.map(shownTo))).toEqual(allowedOrigins);
    // Pages in sandboxed frames have the origin "null", whatever their site.
    expect(await Promise.all(['https://evil.test', 'null'].map(shownTo))).toEqual([null, null]);
    await several.close(0);
  });

  it('answers whether it is alive and ready', async () => {
    expect(await (await fetch(`${server.url}/healthz`)).json()).toEqual({ status: 'ok' });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const unready = await startServer({
      readiness: async () => ({ isReady: false, checks: { database: 'down' } }),
    });
    const response = await fetch(`${unready.url}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      503,
      { status: 'not ready', checks: { database: 'down' } },
    ]);
    await unready.close(0);
  });
});

describe('metrics', () => {
  const status = async (url: string, headers: Record<string, string> = {}) =>
    (await fetch(`${url}/metrics`, { headers })).status;
  const page = { contentType: 'text/plain', read: async () => 'up 1\n' };
  const bearer = async (role: Role) => ({ authorization: `Bearer ${await token([role])}` });

  it('are for private addresses, but not for what a proxy hands on, and for operators', async () => {
    const { url, close } = await startServer({ metrics: { ...page, access: 'private' } });
    const answer = await fetch(`${url}/metrics`);
    expect([answer.headers.get('content-type'), await answer.text()]).toEqual(['text/plain', 'up 1\n']);
    const forwarded = { 'x-forwarded-for': '203.0.113.7' };
    expect(await status(url, forwarded)).toBe(401);
    expect(await status(url, { forwarded: 'for=10.0.0.1' })).toBe(401);
    expect(await status(url, { 'x-forwarded-proto': 'https' })).toBe(401);
    expect(await status(url, { ...forwarded, ...(await bearer('buyer')) })).toBe(403);
    expect(await status(url, { ...forwarded, ...(await bearer('operator')) })).toBe(200);
    const posted = await fetch(`${url}/metrics`, { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
    await close(0);
  });

  it('can be read with a token that is good for nothing else', async () => {
    const secret = 'a token of the scraper, as long as it has to be';
    const { url, close } = await startServer({ metrics: { ...page, access: 'token', token: secret } });
    const own = { authorization: `Bearer ${secret}` };
    expect(await status(url, own)).toBe(200);
    expect(await status(url, { authorization: `Bearer ${secret}.` })).toBe(401);
    expect(await status(url)).toBe(401);
    expect((await fetch(`${url}/graphql?query=%7Bhello%7D`, { headers: own })).status).toBe(401);
    await close(0);
  });

  it('can be for operators alone, or not be there', async () => {
    const { url, close } = await startServer({ metrics: { ...page, access: 'token' } });
    expect(await status(url)).toBe(401);
    expect(await status(url, { authorization: 'Bearer undefined' })).toBe(401);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('METRICS_TOKEN, or of an operator');
    const asBuyer = await fetch(`${url}/metrics`, { headers: await bearer('buyer') });
    expect(await asBuyer.text()).toContain('this token has buyer');
    expect(await status(url, await bearer('operator'))).toBe(200);
    expect(await status(server.url)).toBe(404);
    await close(0);
  });
});

describe('deliveries', () => {
  it('reach the handler as the bytes that were sent, whatever their type', async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 123]);
    const response = await deliver('/api/hooks/retirements', bytes, {
      'content-type': 'image/png',
      'x-service-signature': 's',
    });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(deliveries.at(-1)?.body).toEqual(bytes);
    expect(deliveries.at(-1)?.headers['x-service-signature']).toBe('s');
  });

  it('are answered 200 when the handler fails, which is logged', async () => {
    const response = await deliver('/api/webhooks/payout-settled', '{}');
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(server.log.some((line) => String(line.fields['err']).includes('the database is down'))).toBe(true);
  });

  it('that are too large are answered 200 and dropped', async () => {
    const before = deliveries.length;
    const response = await deliver('/api/hooks/retirements', Buffer.alloc(256 * 1024 + 1));
    expect([response.status, await response.text()]).toEqual([200, '']);
    // What follows on the connection is the rest of a body that may be endless.
    expect(response.headers.get('connection')).toBe('close');
    expect(deliveries).toHaveLength(before);
    await deliver('/api/hooks/retirements', Buffer.alloc(256 * 1024));
    expect(deliveries).toHaveLength(before + 1);
  });

  it('that are encoded are refused by the name of the encoding, and read as they are', async () => {
    const before = deliveries.length;
    const body = gzipSync('{}');
    const response = await deliver('/api/hooks/retirements', body, { 'content-encoding': 'gzip' });
    expect([response.status, response.headers.get('accept-encoding')]).toEqual([415, 'identity']);
    expect(await response.json()).toMatchObject({
      errors: [{ message: expect.stringContaining('content-encoding "gzip"') as string }],
    });
    expect(deliveries).toHaveLength(before);
    await deliver('/api/hooks/retirements', '{}', { 'content-encoding': 'identity' });
    expect(deliveries).toHaveLength(before + 1);
  });

  it('come by POST alone', async () => {
    const response = await fetch(`${server.url}/api/hooks/retirements`);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('an offer of another protocol', () => {
  const settings = 'AAMAAABkAAQAAP__';
  const h2c = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': settings };

  function ask(method: string, path: string, headers: Record<string, string>, body = '') {
    return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const request = httpRequest(server.url + path, { method, headers }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => resolve({ status: response.statusCode, text }));
      });
      request.on('upgrade', ({ statusCode }, socket) => {
        socket.destroy();
        resolve({ status: statusCode, text: '' });
      });
      request.on('error', reject).end(body);
    });
  }

  it('is ignored: the request is answered as without it', async () => {
    expect(await ask('GET', '/healthz', h2c)).toEqual({ status: 200, text: '{"status":"ok"}' });
    expect(await ask('GET', '/graphql?query=%7Bhello%7D', h2c)).toMatchObject({ status: 200 });
  });

  it('costs a delivery nothing, however its body comes', async () => {
    const bodies = {
      '{"by":"length"}': { 'content-length': '15' },
      '{"in":"chunks"}': { 'transfer-encoding': 'chunked' },
    };
    for (const [body, headers] of Object.entries(bodies)) {
      const answer = await ask('POST', '/api/hooks/retirements', { ...h2c, ...headers }, body);
      expect(answer).toEqual({ status: 200, text: '' });
      expect(deliveries.at(-1)?.body.toString()).toBe(body);
    }
  });

  it('is accepted of a websocket, in any letter case', async () => {
    const websocket = {
      connection: 'Upgrade',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      'sec-websocket-protocol': 'graphql-transport-ws',
    };
    for (const upgrade of ['websocket', 'WebSocket'])
      expect(await ask('GET', '/graphql', { ...websocket, upgrade })).toMatchObject({ status: 101 });
  });
});

describe.each([
  ['two Host headers, of which a proxy may have believed the other', 'Host: one\r\nHost: two'],
  ['no Host header', 'Accept: */*'],
  ['a Host header that is no host', 'Host: a:99999'],
  ['a Host header with a path', 'Host: x/y'],
  ['a Host header with a path behind a backslash', String.raw`Host: x\y`],
  ['a Host header with a query', 'Host: x?y'],
  ['a Host header with a fragment', 'Host: x#y'],
  ['a Host header with a user', 'Host: x@y'],
])('%s', (_what, hosts) => {
  it.each([
    ['a request', '/graphql?query=%7Bhello%7D', 'Connection: close'],
    [
      'a websocket',
      '/graphql',
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: graphql-transport-ws',
    ],
  ])('refuses %s', async (_kind, path, headers) => {
    const server = await startServer();
    const { hostname, port } = new URL(server.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port) });
      let text = '';
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes('\r\n\r\n')) resolve(text);
      });
      socket.on('error', reject);
      socket.write(`GET ${path} HTTP/1.1\r\n${hosts}\r\n${headers}\r\n\r\n`);
    });
    await server.close(0);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
  });
});

describe('GraphiQL', () => {
  const examples: GraphiqlExample[] = [
    { role: null, document: '# Who is there?\nquery Hello { hello }' },
    {
      role: 'buyer',
      document: 'query Who($name: String) { whoami(name: $name) }',
      variables: { name: 'Hello.hello' },
    },
  ];
  const tokens = { admin: 'the.admin.token', buyer: 'the.buyer.token' };
  let withPage: TestServer;

  beforeAll(async () => {
    withPage = await startServer({ graphiql: createGraphiqlPage({ examples, tokens }) });
  });

  afterAll(() => withPage.close(0));

  const open = (headers: Record<string, string>) =>
    fetch(`${withPage.url}/graphql`, { headers: { accept: 'text/html', ...headers } });

  it('has the examples and the development tokens, and needs nothing from elsewhere', async () => {
    const response = await open({ 'accept-encoding': 'identity' });
    const html = await response.text();
    for (const { document } of examples) expect(html).toContain(JSON.stringify(document));
    expect(html).toContain('the.buyer.token');
    const pageAround = html.replaceAll(/<script\b.*?<\/script>|<style>.*?<\/style>/gs, '');
    expect(pageAround).not.toMatch(/(src|href)="(https?:)?\/\//);
  });

  it('allows its own scripts alone, by their hashes', async () => {
    const response = await open({ 'accept-encoding': 'identity' });
    const policy = response.headers.get('content-security-policy') ?? '';
    const scripts = [...(await response.text()).matchAll(/<script>(.*?)<\/script>/gs)].map(
      ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
    );
    expect(scripts.length).toBeGreaterThan(1);
    expect(policy.split('; ')).toContain(`script-src ${scripts.join(' ')}`);
    expect(policy.split('; ')).toContain("default-src 'none'");
  });

  it('gives the administrator’s token to the page that asks for it, and never with the page', async () => {
    expect(await (await open({})).text()).not.toContain('the.admin.token');
    const asked = await open({ 'x-development-token': 'admin' });
    expect(await asked.json()).toEqual({ token: 'the.admin.token' });
    const behindProxy = await open({ 'x-development-token': 'admin', via: '1.1 proxy' });
    expect(await behindProxy.json()).toEqual({ token: null });
  });

  it('keeps the tokens from a foreign host name that was made to point here', async () => {
    const html = await new Promise<string>((resolve, reject) => {
      const headers = { accept: 'text/html', host: 'evil.example:4000' };
      httpRequest(`${withPage.url}/graphql`, { headers }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => resolve(text));
      })
        .on('error', reject)
        .end();
    });
    expect(html).toContain('GraphiQL');
    expect(html).not.toMatch(/the\.\w+\.token/);
  });

  it.each(['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'])(
    'keeps the tokens from a proxy that rewrites Host and adds %s',
    async (name) => {
      const html = await (await open({ 'accept-encoding': 'identity', [name]: '203.0.113.7' })).text();
      expect(html).toContain('GraphiQL');
      expect(html).not.toMatch(/the\.\w+\.token/);
    },
  );

  it('is sent compressed to those who can read it', async () => {
    const plain = Buffer.from(await (await open({ 'accept-encoding': 'identity' })).arrayBuffer());
    const zipped = await new Promise<Buffer>((resolve, reject) => {
      const headers = { accept: 'text/html', 'accept-encoding': 'gzip' };
      httpRequest(`${withPage.url}/graphql`, { headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve(Buffer.concat(chunks)));
      })
        .on('error', reject)
        .end();
    });
    expect(zipped.length).toBeLessThan(plain.length / 2);
    expect(gunzipSync(zipped).equals(plain)).toBe(true);
  });

  it('is built again after it could not be built, as when a file could not be opened', async () => {
    let failures = 1;
    const failing: GraphiqlExample = {
      role: null,
      get document() {
        if (failures-- > 0) throw new Error('too many open files');
        return 'query Hello { hello }';
      },
    };
    const again = await startServer({ graphiql: createGraphiqlPage({ examples: [failing], tokens }) });
    const statuses = [];
    for (let visit = 0; visit < 2; visit++) {
      const response = await fetch(`${again.url}/graphql`, { headers: { accept: 'text/html' } });
      statuses.push(response.status);
      await response.arrayBuffer();
    }
    await again.close(0);
    expect(statuses).toEqual([500, 200]);
  });

  it('is not there when it is not asked for', async () => {
    const response = await fetch(`${server.url}/graphql`, { headers: { accept: 'text/html' } });
    expect(response.headers.get('content-type') ?? '').not.toContain('text/html');
  });
});
