/**
 * The memory that one client can occupy: nine hundred subscriptions on a socket, a thousand idle sockets, a
 * subscriber that never reads, ever new documents in long URLs. Limits bound each of them, and the server goes
 * on serving others.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { askOver } from '../../support/http/askOver.ts';
import { bytesKeptBy } from '../../support/heap.ts';
import { startServer, until, type TestServer, testLimits } from '../../support/http/httpServer.ts';

const limits = { ...testLimits(), MAX_CONNECTIONS_PER_ADDRESS: 20_000, MAX_SOCKETS_PER_ADDRESS: 20_000 };
const servers: TestServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close(0);
});

async function serve(overrides: Parameters<typeof startServer>[0] = {}) {
  const server = await startServer({ limits, ...overrides });
  servers.push(server);
  return server;
}

async function isServing({ url }: TestServer): Promise<boolean> {
  const reply = await askOver('http', `${url}/graphql`, { query: '{ hello }' });
  return reply.data?.['hello'] === 'world';
}

interface Message {
  id?: string;
  type: string;
  payload?: { extensions: { code: string } }[];
}

function openSocket(url: string): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, 'graphql-transport-ws');
    socket.once('open', () => resolve(socket));
    socket.on('error', reject);
  });
}

/** Sends connection_init at once: on a busy machine the server would not wait for the other sockets. */
async function openAcknowledged(url: string): Promise<WebSocket> {
  const socket = await openSocket(url);
  socket.send('{"type":"connection_init"}');
  return socket;
}

/** Opens sockets in groups, because one machine is both sides. */
async function openMany(url: string, count: number, open = openSocket): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const group = Array.from({ length: Math.min(250, count - sockets.length) }, () => open(url));
    sockets.push(...(await Promise.all(group)));
  }
  return sockets;
}

// More subscriptions would close the socket: socketFloods.test.ts.
describe('nine hundred subscriptions on one socket', () => {
  it('are a hundred, and eight hundred refusals', async () => {
    const server = await serve();
    const socket = await openSocket(server.wsUrl);
    const refusals: Message[] = [];
    const started = new Set<string>();
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message;
      if (message.type === 'error') refusals.push(message);
      if (message.type === 'next' && message.id !== undefined) started.add(message.id);
    });
    socket.send('{"type":"connection_init"}');
    await new Promise((resolve) => socket.once('message', resolve));
    const payload = { query: 'subscription { ticks(count: 1, wait: true) }' };
    for (let i = 0; i < 900; i++) {
      socket.send(JSON.stringify({ id: String(i), type: 'subscribe', payload }));
    }
    await until(() => started.size + refusals.length === 900);
    expect(started.size).toBe(100);
    expect(server.sources).toHaveLength(100);
    expect(server.load()).toMatchObject({ sockets: 1, subscriptions: 100 });
    expect(new Set(refusals.map(({ payload }) => payload?.[0]?.extensions.code))).toEqual(
      new Set(['RATE_LIMITED']),
    );
    expect(await isServing(server)).toBe(true);
    socket.close();
    await Promise.all(server.sources.map((source) => source.returned));
    await until(() => server.load().sockets === 0);
    expect(server.load().subscriptions).toBe(0);
  });
});

describe('a thousand idle sockets', () => {
  it('that say nothing at all are gone when their time is over', async () => {
    const server = await serve();
    const sockets = await openMany(server.wsUrl, 1_000);
    const closes = new Map<number, number>();
    for (const socket of sockets) {
      socket.once('close', (code) => closes.set(code, (closes.get(code) ?? 0) + 1));
    }
    expect(await isServing(server)).toBe(true);
    await until(() => sockets.every((socket) => socket.readyState === socket.CLOSED));
    await until(() => server.load().sockets === 0);
    // Sockets closed during the opening of others had no listener for it yet.
    expect([...closes.keys()]).toEqual([4408]);
  });

  it('that were acknowledged stay, and cost no operation and no pull', async () => {
    const server = await serve();
    const sockets = await openMany(server.wsUrl, 1_000, openAcknowledged);
    expect(server.load()).toEqual({ unfinishedRequests: 0, sockets: 1_000, subscriptions: 0 });
    expect(await isServing(server)).toBe(true);
    const late = await askOver('websocket', `${server.url}/graphql`, {
      query: 'subscription { ticks(count: 1) }',
    });
    expect(late.data).toEqual({ ticks: '1' });
    for (const socket of sockets) socket.terminate();
    await until(() => server.load().sockets === 0);
  });

  it('are as many as the limits say', async () => {
    const server = await serve({ limits: { ...limits, MAX_SOCKETS_PER_ADDRESS: 100 } });
    const attempts = await Promise.allSettled(Array.from({ length: 300 }, () => openSocket(server.wsUrl)));
    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
    expect(server.load().sockets).toBe(100);
    expect(await isServing(server)).toBe(true);
  });
});

describe('a subscriber that never reads', () => {
  const endless = 'subscription { ticks(bytes: 10000) }';

  it('with a hundred subscriptions is sent what its socket holds, and one event of each beyond', async () => {
    const server = await serve();
    const socket = await openSocket(server.wsUrl);
    socket.on('error', () => undefined);
    socket.send('{"type":"connection_init"}');
    await new Promise((resolve) => socket.once('message', resolve));
    socket.pause();
    for (let i = 0; i < 100; i++) {
      socket.send(JSON.stringify({ id: String(i), type: 'subscribe', payload: { query: endless } }));
    }
    await until(() => server.sources.length === 100);
    const pulls = () => server.sources.reduce((sum, source) => sum + source.pulls, 0);
    await untilStill(pulls);
    const pulledBytes = pulls() * 10_000;
    expect(await isServing(server)).toBe(true);
    // The kernel's buffers on both sides hold some megabytes; no more may wait.
    expect(pulledBytes).toBeLessThan(30_000_000);
    socket.terminate();
    await Promise.all(server.sources.map((source) => source.returned));
  });

  it('over event streams is sent no more', async () => {
    const server = await serve();
    const leaving = new AbortController();
    const responses = await Promise.all(
      Array.from({ length: 5 }, () =>
        fetch(`${server.url}/graphql?query=${encodeURIComponent(endless)}`, {
          headers: { accept: 'text/event-stream' },
          signal: leaving.signal,
        }),
      ),
    );
    const pulls = () => server.sources.reduce((sum, source) => sum + source.pulls, 0);
    await untilStill(pulls);
    expect(responses.map((response) => response.status)).toEqual(responses.map(() => 200));
    // Five connections have five times the kernel's buffers.
    expect(pulls() * 10_000).toBeLessThan(5 * 15_000_000);
    expect(await isServing(server)).toBe(true);
    leaving.abort();
    await until(() => server.load().subscriptions === 0);
  });
});

describe('ever new documents by GET', () => {
  it('are kept without the rest of their URLs', async () => {
    const server = await serve();
    const ask = async (prefix: string) => {
      for (let i = 0; i < 200; i++) {
        // Unescaped, so that the parameter is a part of the URL's text.
        const query = `{${prefix}${i}:hello}&pad=${'x'.repeat(12_000)}`;
        expect((await fetch(`${server.url}/graphql?query=${query}`)).status).toBe(200);
      }
    };
    // The first requests also fill what a server and a client make once.
    await ask('first');
    const { bytes } = await bytesKeptBy(() => ask('later'));
    // A parsed document of this length takes four kilobytes.
    expect(bytes).toBeLessThan(200 * 8_000);
  });
});

/** Waits until a number has stopped moving for a while. */
async function untilStill(count: () => number): Promise<void> {
  let last = -1;
  let stillLooks = 0;
  await until(() => {
    stillLooks = count() === last ? stillLooks + 1 : 0;
    last = count();
    return stillLooks >= 60;
  });
}
