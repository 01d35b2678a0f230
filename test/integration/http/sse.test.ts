import { request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, token, until } from '../../support/http/httpServer.ts';
import type { TestServer } from '../../support/http/httpServer.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close(0));

/** Opens a stream by POST, without reading it. */
function open(
  url: string,
  query: string,
  headers: Record<string, string> = {},
): Promise<{ request: ClientRequest; response: IncomingMessage }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    });
    request.once('response', (response) => resolve({ request, response }));
    request.on('error', reject);
    request.end(JSON.stringify({ query }));
  });
}

/** Reads a stream to its end: the data of each event, in order. */
async function eventsOf(response: IncomingMessage): Promise<{ event: string; data: unknown }[]> {
  let text = '';
  for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
  return text
    .split('\n\n')
    .map((block) => ({ event: /^event: (.*)$/m.exec(block)?.[1], data: /^data: ?(.*)$/m.exec(block)?.[1] }))
    .flatMap(({ event, data }) =>
      event === undefined ? [] : [{ event, data: data ? (JSON.parse(data) as unknown) : null }],
    );
}

describe('a subscription over SSE', () => {
  it('says each event and that it is complete', async () => {
    const { response } = await open(server.url, 'subscription { ticks(count: 2) }');
    expect(response.headers['content-type']).toBe('text/event-stream');
    expect(await eventsOf(response)).toEqual([
      { event: 'next', data: { data: { ticks: '1' } } },
      { event: 'next', data: { data: { ticks: '2' } } },
      { event: 'complete', data: null },
    ]);
  });

  it.each(['text/event-stream', 'multipart/mixed;subscriptionSpec=1.0'])(
    'is not held back by nginx, whose default is to fill a buffer first: %s',
    async (accept) => {
      const { response } = await open(server.url, 'subscription { ticks(count: 1) }', { accept });
      expect(response.headers['x-accel-buffering']).toBe('no');
      response.resume();
      const query = await server.post({ query: '{ hello }' }, { accept: 'application/json' });
      expect(query.headers.get('x-accel-buffering')).toBeNull();
    },
  );

  it('can be opened by GET, as EventSource does', async () => {
    const url = `${server.url}/graphql?${new URLSearchParams({ query: 'subscription { ticks(count: 1) }' })}`;
    const response = await fetch(url, { headers: { accept: 'text/event-stream' } });
    expect(await response.text()).toContain('data: {"data":{"ticks":"1"}}');
  });

  it('is refused like any operation, before anything is subscribed to', async () => {
    const before = server.sources.length;
    const { response } = await open(server.url, 'subscription { secretTicks }');
    expect(await eventsOf(response)).toMatchObject([
      { event: 'next', data: { errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] } },
      { event: 'complete' },
    ]);
    expect(server.sources).toHaveLength(before);
  });

  it('ends at the moment its token expires', async () => {
    // The server's clock is 299 s ahead of the signer's, whose token lasts 300 s.
    const ahead = await startServer({ clock: { now: () => new Date(Date.now() + 299_000) } });
    const authorization = `Bearer ${await token(['buyer'])}`;
    const { response } = await open(ahead.url, 'subscription { ticks(count: 1, wait: true) }', {
      authorization,
    });
    expect((await eventsOf(response)).at(-1)).toEqual({ event: 'complete', data: null });
    await ahead.sources[0]?.returned;
    await ahead.close(0);
  });

  it('ends its source when the client goes away', async () => {
    const before = server.sources.length;
    const { request, response } = await open(server.url, 'subscription { ticks(count: 1, wait: true) }');
    await new Promise((resolve) => response.once('data', resolve));
    await until(() => server.sources.length > before);
    request.destroy();
    await expect(server.sources.at(-1)?.returned).resolves.toBeUndefined();
  });

  it.each(['text/event-stream', 'multipart/mixed;subscriptionSpec=1.0'])(
    'is not counted when the client has gone before its answer began: %s',
    async (accept) => {
      const before = server.sources.length;
      const request = httpRequest(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept },
      });
      request.on('error', () => undefined);
      request.end(JSON.stringify({ query: 'subscription { ticks(wait: true, count: 1, lateMs: 300) }' }));
      await until(() => server.load().subscriptions === 1);
      request.destroy();
      await until(() => server.sources.length > before);
      await expect.poll(() => server.load().subscriptions).toBe(0);
    },
  );

  it('does not hold up a server that stops', async () => {
    const stopping = await startServer();
    const { response } = await open(stopping.url, 'subscription { ticks(count: 1, wait: true) }');
    const ended = new Promise((resolve) => response.once('close', resolve));
    response.on('error', () => undefined);
    response.resume();
    await stopping.close(60_000);
    await ended;
    await expect(stopping.sources[0]?.returned).resolves.toBeUndefined();
  });
});

describe('a client of SSE that does not read', () => {
  it('is sent no more than its socket holds, then cut off, while others are served', async () => {
    const impatient = await startServer({ socketStallMs: 400 });
    const { response } = await open(impatient.url, 'subscription { ticks(bytes: 100000) }');
    response.on('error', () => undefined);
    await until(() => impatient.sources.length === 1);

    const { response: other } = await open(impatient.url, 'subscription { ticks(count: 2) }');
    expect(await eventsOf(other)).toHaveLength(3);

    const [source] = impatient.sources;
    await source?.returned;
    expect(source?.pulls).toBeGreaterThan(0);
    // Far above the kernel's buffers and one event, far below the output of an eager server.
    expect(source?.pulls).toBeLessThan(500);
    await impatient.close(0);
  });
});
