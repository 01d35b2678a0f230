/**
 * Apollo Client's subscriptions over HTTP, and the answer to clients that accept none of the forms.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, token, until, type TestServer, testLimits } from '../../support/http/httpServer.ts';

const ACCEPT = 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close(0));

function ask(url: string, query: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: ACCEPT, ...headers },
    body: JSON.stringify({ query }),
  });
}

/** The JSON of each part. */
function partsOf(text: string): unknown[] {
  const [before, ...parts] = text.split('\r\n--graphql');
  expect(before).toBe('');
  expect(parts.pop()).toBe('--\r\n');
  return parts.map((part) => JSON.parse(part.split('\r\n\r\n', 2)[1] ?? '') as unknown);
}

describe('a subscription over multipart', () => {
  it.each([ACCEPT, 'multipart/mixed; boundary="graphql"; subscriptionSpec="1.0", application/json'])(
    'says each event in a part, after a heartbeat: %s',
    async (accept) => {
      const response = await ask(server.url, 'subscription { ticks(count: 2) }', { accept });
      expect(response.headers.get('content-type')).toBe(
        'multipart/mixed;boundary="graphql";subscriptionSpec=1.0',
      );
      expect(partsOf(await response.text())).toEqual([
        {},
        { payload: { data: { ticks: '1' } } },
        { payload: { data: { ticks: '2' } } },
      ]);
    },
  );

  it('is refused like any operation, before anything is subscribed to', async () => {
    const before = server.sources.length;
    const refused = await ask(server.url, 'subscription { secretTicks }');
    expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
    const accept = 'multipart/mixed;subscriptionSpec=1.0';
    const inParts = await ask(server.url, 'subscription { secretTicks }', { accept });
    expect(partsOf(await inParts.text())).toMatchObject([
      {},
      { payload: { errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] } },
    ]);
    expect(server.sources).toHaveLength(before);
  });

  it('counts among the open subscriptions, and no longer when the client goes away', async () => {
    const limited = await startServer({
      limits: { ...testLimits(), MAX_SUBSCRIPTIONS: 1 },
    });
    const leaving = new AbortController();
    const response = await fetch(`${limited.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: ACCEPT },
      body: JSON.stringify({ query: 'subscription { ticks(count: 1, wait: true) }' }),
      signal: leaving.signal,
    });
    expect(response.status).toBe(200);
    const second = await ask(limited.url, 'subscription { ticks(count: 1) }');
    expect(await second.json()).toMatchObject({ errors: [{ extensions: { code: 'OVERLOADED' } }] });
    leaving.abort();
    await limited.sources[0]?.returned;
    await until(() => limited.load().subscriptions === 0);
    await limited.close(0);
  });

  it('ends at the moment its token expires', async () => {
    // The server's clock is 297 s ahead of the signer's, whose token lasts 300 s.
    const ahead = await startServer({ clock: { now: () => new Date(Date.now() + 297_000) } });
    const authorization = `Bearer ${await token(['buyer'])}`;
    const response = await ask(ahead.url, 'subscription { ticks(count: 1, wait: true) }', { authorization });
    expect(partsOf(await response.text())).toEqual([{}, { payload: { data: { ticks: '1' } } }]);
    await ahead.close(0);
  });

  it('does not hold up a server that stops', async () => {
    const stopping = await startServer();
    const response = await ask(stopping.url, 'subscription { ticks(count: 1, wait: true) }');
    const ended = response.text().catch(() => 'ended');
    await stopping.close(60_000);
    await ended;
    await expect(stopping.sources[0]?.returned).resolves.toBeUndefined();
  });
});

describe('a client that accepts no form of the answer', () => {
  it('gets the forms that there are for a subscription, and nothing stays open', async () => {
    for (const accept of ['application/json', 'multipart/mixed', 'multipart/mixed;subscriptionSpec=2.0']) {
      const response = await ask(server.url, 'subscription { ticks(wait: true) }', { accept });
      expect(response.status).toBe(406);
      const { errors } = (await response.json()) as { errors: { message: string; extensions: object }[] };
      expect(errors[0]).toMatchObject({ extensions: { code: 'BAD_REQUEST' } });
      expect(errors[0]?.message).toContain('text/event-stream, or multipart/mixed;subscriptionSpec=1.0');
      await server.sources.at(-1)?.returned;
    }
    expect(server.load().subscriptions).toBe(0);
  });

  it('gets the forms that there are for a query', async () => {
    const response = await ask(server.url, '{ hello }', { accept: 'text/csv' });
    expect(response.status).toBe(406);
    expect(await response.text()).toContain('application/graphql-response+json, or application/json');
  });
});
