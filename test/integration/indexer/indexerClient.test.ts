/**
 * The indexer client with misbehaving indexers: every failure becomes INDEXER_UNAVAILABLE, soon and bounded.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { listenLocally } from '../../../devnet/listenLocally.ts';
import { createIndexerClient } from '../../../src/indexer/client.ts';
import type { IndexerClient } from '../../../src/indexer/client.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const toClose: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

/** Enough for an answer on a busy machine; two tests wait for its end. */
const TIMEOUT_MS = 2_000;

async function clientOf(handler: Handler, path = ''): Promise<IndexerClient> {
  const { url, close } = await listenLocally(createServer(handler));
  toClose.push(close);
  return createIndexerClient({ url: `${url}${path}`, fetch, timeoutMs: TIMEOUT_MS });
}

function answering(status: number, body: unknown): Handler {
  return (_request, response) => response.writeHead(status).end(JSON.stringify(body));
}

const unavailable = { name: 'DomainError', code: 'INDEXER_UNAVAILABLE' };

describe('the indexer client', () => {
  it('keeps the path of the base address, and encodes what it asks for', async () => {
    const paths: (string | undefined)[] = [];
    const client = await clientOf((request, response) => {
      paths.push(request.url);
      response.end(JSON.stringify({ removed: true }));
    }, '/indexer/v1');
    await client.deleteWebhook('../a b');
    expect(paths).toEqual(['/indexer/v1/webhooks/..%2Fa%20b']);
  });

  it('reads both forms of a list of registrations', async () => {
    const registration = { id: '1', url: 'http://localhost/', events: ['*'], createdAt: 'yesterday' };
    const known = [{ id: '1', url: 'http://localhost/', events: ['*'] }];
    expect(await (await clientOf(answering(200, [registration]))).listWebhooks()).toEqual(known);
    expect(await (await clientOf(answering(200, { webhooks: [registration] }))).listWebhooks()).toEqual(
      known,
    );
  });

  it('reads as many registrations as the embedded indexer holds, with the longest addresses', async () => {
    const url = `http://localhost/${'x'.repeat(2_000)}`;
    const listed = Array.from({ length: 100 }, (_, i) => ({ id: String(i), url, events: ['*'] }));
    expect(await (await clientOf(answering(200, listed))).listWebhooks()).toEqual(listed);
  });

  it.each(['.', '..'])('takes %s for no id: removing it would be removing something else', async (id) => {
    const registration = { id, url: 'http://localhost/', events: ['*'], secret: 's' };
    await expect((await clientOf(answering(200, [registration]))).listWebhooks()).rejects.toMatchObject(
      unavailable,
    );
    const client = await clientOf(answering(201, registration));
    await expect(client.registerWebhook('http://localhost/', ['*'])).rejects.toMatchObject(unavailable);
  });

  it('takes 404 on removal for "was not there"', async () => {
    const client = await clientOf(answering(404, { error: 'unknown' }));
    expect(await client.deleteWebhook('1')).toBe(false);
    await expect(client.listWebhooks()).rejects.toMatchObject(unavailable);
  });

  it('does without a registration that has no secret', async () => {
    const client = await clientOf(answering(201, { id: '1', url: 'http://localhost/', events: ['*'] }));
    await expect(client.registerWebhook('http://localhost/', ['*'])).rejects.toMatchObject(unavailable);
  });

  it.each<[string, Handler]>([
    ['answers with an error', answering(500, { ok: false })],
    ['answers with something else', answering(200, { hello: 'world' })],
    ['answers with no JSON', (_request, response) => response.end('<html>')],
    [
      'sends elsewhere',
      ({ url }, response) =>
        url === '/health'
          ? response.writeHead(302, { location: '/other' }).end()
          : response.end(JSON.stringify({ ok: true })),
    ],
    ['answers with more than it has to say', answering(200, { ok: true, more: 'x'.repeat(256 * 1024) })],
    ['hangs up', (request) => request.socket.destroy()],
    ['never answers', () => {}],
    ['begins and never ends', (_request, response) => response.writeHead(200).write('{"ok":')],
    [
      'never stops talking',
      (_request, response) => {
        const chunk = Buffer.alloc(64 * 1024, ' ');
        const talk = (): void => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on('drain', talk).writeHead(200);
        talk();
      },
    ],
  ])('says that an indexer is unavailable which %s', async (_what, handler) => {
    const client = await clientOf(handler);
    await expect(client.health()).rejects.toMatchObject(unavailable);
  });

  it('says that an indexer is unavailable which is not there', async () => {
    const client = createIndexerClient({ url: 'http://127.0.0.1:9', fetch, timeoutMs: TIMEOUT_MS });
    await expect(client.health()).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('GET /health') as string,
    });
  });

  it('that is not configured says how to configure one', async () => {
    const client = createIndexerClient({ url: null, fetch, timeoutMs: TIMEOUT_MS });
    await expect(client.registerWebhook('http://localhost/', ['*'])).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('INDEXER_URL'),
    });
  });
});
