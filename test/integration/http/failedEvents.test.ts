/**
 * A subscription ends when something fails: no event is left out, and no failure repeats.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { StreamBase, type StepReader } from '../../../src/lib/pullStream.ts';
import { createBuilder } from '../../../src/schema/core/createBuilder.ts';
import { startServer, type TestServer } from '../../support/http/httpServer.ts';

let server: TestServer;
/** The number of pulls from the source of `broken`. */
let pulls = 0;

beforeAll(async () => {
  server = await startServer({ schema: numbersSchema() });
});

afterAll(() => server.close(0));

const SSE = 'text/event-stream';
const MULTIPART = 'multipart/mixed;subscriptionSpec=1.0';

/** The whole text of a stream. */
async function readAll(query: string, accept: string): Promise<string> {
  const response = await server.post({ query }, { accept });
  return response.text();
}

async function readOverWebsocket(query: string): Promise<unknown[]> {
  const client = createClient({ url: server.wsUrl, webSocketImpl: WebSocket, retryAttempts: 0 });
  const results: unknown[] = [];
  for await (const result of client.iterate({ query })) results.push(result);
  await client.dispose();
  return results;
}

it.each([SSE, MULTIPART])('says once that its source has failed, and is over: %s', async (accept) => {
  pulls = 0;
  const text = await readAll('subscription { broken { id } }', accept);
  expect(text.match(/INTERNAL_SERVER_ERROR/g)).toHaveLength(1);
  expect(pulls).toBe(1);
  expect(server.load().subscriptions).toBe(0);
});

it.each([SSE, MULTIPART])('sends nothing after an event that has failed: %s', async (accept) => {
  const text = await readAll('subscription { numbers { id odd } }', accept);
  expect(text).toContain('"id":"1"');
  expect(text.match(/"errors"/g)).toHaveLength(1);
  expect(text).not.toContain('"id":"3"');
});

it('sends nothing after an event that has failed over a websocket', async () => {
  expect(await readOverWebsocket('subscription { numbers { id odd } }')).toMatchObject([
    { data: { numbers: { id: '1' } } },
    { data: { numbers: null }, errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }] },
  ]);
});

it('goes on after an event of which a part is null', async () => {
  const parts = await readOverWebsocket('subscription { numbers { id oddOrNull } }');
  expect(parts).toMatchObject([
    { data: { numbers: { id: '1' } } },
    { data: { numbers: { id: '2', oddOrNull: null } }, errors: [{}] },
    { data: { numbers: { id: '3' } } },
  ]);
});

function numbersSchema() {
  const builder = createBuilder<object>();
  const requireOdd = (id: number) => {
    if (id % 2 === 0) throw new Error('even');
    return String(id);
  };
  const number = builder.objectRef<{ id: number }>('Number').implement({
    fields: (t) => ({
      id: t.string({ resolve: ({ id }) => String(id) }),
      odd: t.string({ resolve: ({ id }) => requireOdd(id) }),
      oddOrNull: t.string({ nullable: true, resolve: ({ id }) => requireOdd(id) }),
    }),
  });
  builder.queryType({
    fields: (t) => ({ hello: t.string({ authScopes: { public: true }, resolve: () => 'world' }) }),
  });
  const event = { type: number, nullable: true, authScopes: { public: true } } as const;
  builder.subscriptionType({
    fields: (t) => ({
      numbers: t.field({ ...event, subscribe: numbers, resolve: (source: { id: number }) => source }),
      broken: t.field({
        ...event,
        subscribe: () => new Broken(),
        resolve: (source: { id: number }) => source,
      }),
    }),
  });
  return builder.toSchema();
}

async function* numbers() {
  for (const id of [1, 2, 3]) yield { id };
}

/** A source that reads its events from an absent database: each pull fails again. */
class Broken extends StreamBase<{ id: number }> {
  pull(reader: StepReader<{ id: number }>): void {
    pulls += 1;
    // Without this limit the test would never end.
    if (pulls > 20) reader.onEnd();
    else setImmediate(() => reader.onError(new Error('away')));
  }

  protected stop(): void {}
}
