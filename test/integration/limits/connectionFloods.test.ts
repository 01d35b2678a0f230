/**
 * Too many connections, sockets and subscriptions: each is refused with a way to retry, and clients at other
 * addresses are not affected.
 */
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { silentLog } from '../../../devnet/platform.ts';
import type { PublicPages } from '../../../src/http/server/pages.ts';
import { createRateLimits } from '../../../src/limits/rateLimits.ts';
import { askOver, codesOf } from '../../support/http/askOver.ts';
import { serveWith as serve, statusFrom } from '../../support/http/flooded.ts';
import { testLimits, until } from '../../support/http/httpServer.ts';

describe('connections', () => {
  const open = (port: number, localAddress = '127.0.0.1') =>
    new Promise<{ socket: ReturnType<typeof connect>; closed: Promise<void> }>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      const closed = new Promise<void>((done) => socket.once('close', () => done()));
      socket.once('connect', () => resolve({ socket, closed }));
      socket.on('error', reject);
      socket.resume();
    });

  /** What the server answers before it closes the connection. */
  const answeredBytes = async (port: number, localAddress?: string) => {
    const { socket, closed } = await open(port, localAddress);
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    await closed;
    return socket.bytesRead;
  };

  it('beyond the number for an address are closed, others are served', async () => {
    const { port, api } = await serve({ MAX_CONNECTIONS_PER_ADDRESS: 20 });
    const held = await Promise.all(Array.from({ length: 20 }, () => open(port)));
    expect(await answeredBytes(port)).toBe(0);
    expect(await statusFrom('127.0.0.2', api)).toBe(200);
    for (const { socket } of held) socket.destroy();
    await until(() => held.every(({ socket }) => socket.destroyed));
    await expect.poll(() => statusFrom('127.0.0.1', api).catch(() => 0)).toBe(200);
  });

  it('beyond the number for all addresses are closed, and taken again when others have ended', async () => {
    const { port } = await serve({ MAX_CONNECTIONS: 3 });
    const held = await Promise.all(['127.0.0.1', '127.0.0.2', '127.0.0.3'].map((from) => open(port, from)));
    expect(await answeredBytes(port, '127.0.0.4')).toBe(0);
    held[0]?.socket.destroy();
    await expect.poll(() => answeredBytes(port, '127.0.0.4')).toBeGreaterThan(0);
    for (const { socket } of held) socket.destroy();
  });

  it('that trickle their request in are ended, in its headers and in its body', async () => {
    const { port, api } = await serve(
      {},
      { requestTimeouts: { headersMs: 300, requestMs: 600, checkMs: 50 } },
    );
    const headers = await open(port);
    headers.socket.write('GET /graphql HTTP/1.1\r\nhost: x\r\n');
    const body = await open(port);
    body.socket.write(
      'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    );
    const trickle = setInterval(() => {
      if (!headers.socket.destroyed) headers.socket.write('x: y\r\n');
      if (!body.socket.destroyed) body.socket.write(' ');
    }, 20);
    await Promise.all([headers.closed, body.closed]);
    clearInterval(trickle);
    expect(await statusFrom('127.0.0.1', api)).toBe(200);
  });

  const pages: PublicPages = {
    has: () => true,
    answer: async () => ({ status: 200, headers: {}, body: 'a page' }),
    failure: ({ status, message }) => ({ status, headers: {}, body: message }),
  };

  it('that trickle forms in hold no place for pages', async () => {
    const { port, url, load } = await serve({}, { pages });
    const forms = await Promise.all([1, 2, 3].map(() => open(port)));
    for (const { socket } of forms)
      socket.write('POST /verify HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\na');
    await until(() => load().unfinishedRequests === forms.length);
    expect(await statusFrom('127.0.0.1', `${url}/verify`)).toBe(200);
    // None of the forms was abandoned meanwhile.
    expect(forms.map(({ socket }) => socket.bytesRead)).toEqual([0, 0, 0]);
    for (const { socket } of forms) socket.destroy();
  });

  it('of forms that are too large to be read are closed', async () => {
    const { port } = await serve({}, { pages });
    const { socket, closed } = await open(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write('POST /verify HTTP/1.1\r\nhost: x\r\ncontent-length: 9999999\r\n\r\na');
    await expect.poll(() => text).toContain('\r\n\r\n');
    expect(text.split('\r\n')[0]).toBe('HTTP/1.1 400 Bad Request');
    expect(text.toLowerCase()).toContain('\r\nconnection: close\r\n');
    await closed;
  });

  const ONE = 'GET /graphql?query=%7Bhello%7D HTTP/1.1\r\nhost: x\r\n\r\n';
  const answersIn = (text: string) => text.split('HTTP/1.1 200').length - 1;

  it('answer what a client sends ahead', async () => {
    const { port } = await serve({});
    const { socket } = await open(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    for (const round of [1, 2]) {
      socket.write(ONE.repeat(16));
      await expect.poll(() => answersIn(text)).toBe(16 * round);
    }
    socket.destroy();
  });

  it.each([17, 40])('answer 16 of %i requests that a client sends ahead, and nothing else', async (sent) => {
    const { port } = await serve({});
    const { socket, closed } = await open(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write(ONE.repeat(sent));
    await closed;
    expect(answersIn(text)).toBe(16);
    expect(text.split('HTTP/1.1 ')).toHaveLength(17);
  });

  it('answer the requests that stand before bytes that are none, and end', async () => {
    const { port } = await serve({});
    const { socket, closed } = await open(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write(`${ONE.repeat(2)}no request\r\n\r\n`);
    await closed;
    expect(answersIn(text)).toBe(2);
    expect(text.split('HTTP/1.1 ')).toHaveLength(3);
  });

  it('answer what was sent ahead also when that takes longer than the rest of it may take to arrive', async () => {
    const timeouts = { headersMs: 100, requestMs: 100, checkMs: 20 };
    let timedOut = () => {};
    const isTimedOut = new Promise<void>((resolve) => (timedOut = resolve));
    const slow = { ...pages, answer: () => isTimedOut.then(() => pages.answer({} as never)) };
    const { port } = await serve({}, { pages: slow, requestTimeouts: timeouts });
    const { socket, closed } = await open(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write(ONE.replace(/\/graphql\S*/, '/').repeat(17));
    // By then the server has ended a later connection, because its request took too long.
    const late = await open(port);
    late.socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n');
    await late.closed;
    timedOut();
    await closed;
    expect(answersIn(text)).toBe(16);
    expect(text.split('HTTP/1.1 ')).toHaveLength(17);
  });

  it('answer no more pipelined requests at a time than the limit', async () => {
    const { port, load } = await serve({ MAX_CONNECTIONS_PER_ADDRESS: 5 });
    const { socket } = await open(port);
    socket.write(ONE.repeat(16));
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    let most = 0;
    await until(() => {
      most = Math.max(most, load().unfinishedRequests);
      return text.split('HTTP/1.1 ').length === 17;
    });
    socket.destroy();
    expect(most).toBeLessThanOrEqual(5);
    // All of them arrive before the first one is answered.
    expect(answersIn(text)).toBe(5);
    expect(text.match(/HTTP\/1\.1 503 .*\r\n/g)).toHaveLength(11);
    expect(text.match(/"code":"OVERLOADED","retryAfterSeconds":1\b/g)).toHaveLength(11);
  });

  it('that are lost give back what their requests were counted as, also of those that waited for others', async () => {
    let lose = () => {};
    let requests = 0;
    const newRequestId = () => {
      requests += 1;
      if (requests % 16 === 0) lose();
      return String(requests);
    };
    const { port, api, load } = await serve({ MAX_CONNECTIONS_PER_ADDRESS: 30 }, { newRequestId });
    for (let times = 0; times < 5; times++) {
      const { socket, closed } = await open(port);
      lose = () => socket.resetAndDestroy();
      socket.write(ONE.repeat(16));
      await closed;
    }
    await expect.poll(() => load().unfinishedRequests).toBe(0);
    expect(await statusFrom('127.0.0.1', api)).toBe(200);
  });

  it.each(['/graphql', '/graphql?', '/api/hooks/retirements', '/verify'])(
    'that are lost while their requests to %s wait are no failures',
    async (path) => {
      let goOn = () => {};
      const rested = new Promise<void>((resolve) => (goOn = resolve));
      const cpuThrottle = { charge: () => undefined, awaitTurn: () => rested };
      const rateLimits = createRateLimits(testLimits(), null, silentLog, { cpuThrottle });
      const { port, load, log } = await serve({}, { pages, rateLimits });
      const { socket, closed } = await open(port);
      const headers = 'host: x\r\ncontent-type: application/json\r\ncontent-length: 2';
      socket.write(`POST ${path} HTTP/1.1\r\n${headers}\r\n\r\n{}`);
      await until(() => load().unfinishedRequests === 1);
      socket.resetAndDestroy();
      await closed;
      await until(() => load().unfinishedRequests === 0);
      goOn();
      for (let turns = 0; turns < 10; turns += 1) await new Promise(setImmediate);
      expect(log).toEqual([]);
    },
  );

  it.each([
    ['requests', ONE, '200'],
    [
      'requests with an expectation that no server meets',
      ONE.replace('host: x', 'host: x\r\nexpect: x'),
      '200',
    ],
    ['requests without a Host header', ONE.replace('host: x\r\n', ''), '400'],
  ])(
    'that send %s without waiting for answers are ended, and what they sent is not read',
    async (_what, one, status) => {
      let requests = 0;
      const { port, api, load } = await serve({}, { newRequestId: () => String((requests += 1)) });
      const { socket, closed } = await open(port);
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      socket.write(one);
      await expect.poll(() => text).toContain(`HTTP/1.1 ${status} `);
      socket.write(one.repeat(1_000));
      await closed;
      await expect.poll(() => load().unfinishedRequests).toBe(0);
      expect(requests).toBe(17);
      expect(text.split('HTTP/1.1 ').length - 1).toBeLessThanOrEqual(18);
      expect(await statusFrom('127.0.0.1', api)).toBe(200);
    },
  );

  it('of clients that ask before they send a body are told to go on', async () => {
    const { port } = await serve({});
    const { socket } = await open(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const body = '{"query":"{ hello }"}';
    const headers = ['host: x', 'content-type: application/json', `content-length: ${body.length}`];
    socket.write(`POST /graphql HTTP/1.1\r\n${headers.join('\r\n')}\r\nexpect: 100-continue\r\n\r\n`);
    await expect.poll(() => text).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(body);
    await expect.poll(() => text).toContain('{"data":{"hello":"world"}');
    socket.destroy();
  });

  it('of an address that does so again and again are closed for a while, others are served', async () => {
    // Otherwise the address's budget returns meanwhile, by as much as the machine is slow.
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    let requests = 0;
    const { port, api } = await serve({}, { newRequestId: () => String((requests += 1)) });
    for (let times = 0; times < 40; times++) {
      const { socket, closed } = await open(port);
      socket.on('error', () => undefined).write(ONE.repeat(100));
      await closed;
    }
    expect(requests).toBe(20 * 16);
    await expect(statusFrom('127.0.0.1', api)).rejects.toThrow();
    expect(await statusFrom('127.0.0.2', api)).toBe(200);
    vi.advanceTimersByTime(1_000);
    expect(await statusFrom('127.0.0.1', api)).toBe(200);
  });

  it('of a trusted proxy may be more than those of an address', async () => {
    const { port, api } = await serve({ TRUSTED_PROXY_HOPS: 1, MAX_CONNECTIONS_PER_ADDRESS: 2 });
    const opened = await Promise.all([open(port), open(port)]);
    expect(await statusFrom('127.0.0.1', api)).toBe(200);
    for (const { socket } of opened) socket.destroy();
  });

  it('of a trusted proxy are not closed because some of its clients do so', async () => {
    const { port, api } = await serve({ TRUSTED_PROXY_HOPS: 1 });
    for (let times = 0; times < 30; times++) {
      const { socket, closed } = await open(port);
      socket.on('error', () => undefined).write(ONE.repeat(100));
      await closed;
    }
    expect(await statusFrom('127.0.0.1', api)).toBe(200);
  });
});

describe('websockets', () => {
  const openSocket = (url: string, options = {}) =>
    new Promise<WebSocket>((resolve, reject) => {
      const socket = new WebSocket(url, 'graphql-transport-ws', options);
      socket.once('open', () => resolve(socket));
      socket.on('error', reject);
    });

  it('beyond the number for an address are refused with 429, others are taken', async () => {
    const { wsUrl, load } = await serve({ MAX_SOCKETS_PER_ADDRESS: 5 });
    const held = await Promise.all(Array.from({ length: 5 }, () => openSocket(wsUrl)));
    await expect(openSocket(wsUrl)).rejects.toThrow('429');
    (await openSocket(wsUrl, { localAddress: '127.0.0.2' })).close();
    for (const socket of held) socket.close();
    await until(() => load().sockets === 0);
    (await openSocket(wsUrl)).close();
  });

  it('that say nothing are closed 4408', async () => {
    const { wsUrl } = await serve({});
    const socket = await openSocket(wsUrl);
    expect(await new Promise((resolve) => socket.once('close', resolve))).toBe(4408);
  });
});

describe('subscriptions', () => {
  it('of an address are limited over all its sockets and streams, and freed when they end', async () => {
    const { api, load } = await serve({ MAX_SUBSCRIPTIONS_PER_ADDRESS: 2 });
    const query = 'subscription { ticks(count: 1, wait: true) }';
    const held = await Promise.all(
      [1, 2].map(() =>
        fetch(`${api}?query=${encodeURIComponent(query)}`, { headers: { accept: 'text/event-stream' } }),
      ),
    );
    expect(load().subscriptions).toBe(2);
    for (const over of ['sse', 'websocket'] as const) {
      expect(codesOf(await askOver(over, api, { query }))).toEqual(['OVERLOADED']);
    }
    for (const response of held) await response.body?.cancel();
    await until(() => load().subscriptions === 0);
    expect((await askOver('sse', api, { query })).data).toEqual({ ticks: '1' });
  });
});
