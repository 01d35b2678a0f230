import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import type { Client, ClientOptions } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { ConnectionLost } from '../../../src/db/connectionLost.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import { createRateLimits } from '../../../src/limits/rateLimits.ts';
import { startServer, testLimits, token, until } from '../../support/http/httpServer.ts';
import type { TestServer } from '../../support/http/httpServer.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close(0));

function client(options: Partial<ClientOptions> = {}): Client {
  return createClient({ url: server.wsUrl, webSocketImpl: WebSocket, retryAttempts: 0, ...options });
}

async function withAuthorization(roles: Parameters<typeof token>[0]): Promise<Client> {
  return client({ connectionParams: { authorization: `Bearer ${await token(roles)}` } });
}

/** All answers of an operation. */
async function all(source: Client, query: string, variables?: Record<string, unknown>): Promise<unknown[]> {
  const results: unknown[] = [];
  for await (const result of source.iterate({ query, variables })) results.push(result);
  return results;
}

/** The code and the reason with which the server closes a socket. */
function closeOf(socket: WebSocket): Promise<{ code: number; reason: string }> {
  return new Promise((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
    socket.on('error', () => undefined);
  });
}

/** A bare socket that has sent nothing yet. */
async function openSocket(url = server.wsUrl): Promise<WebSocket> {
  const socket = new WebSocket(url, 'graphql-transport-ws');
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return socket;
}

/** The HTTP status of an attempt to open a websocket. */
function attempt(url: string, origin?: string) {
  return new Promise<number | undefined>((resolve) => {
    const socket = new WebSocket(url, 'graphql-transport-ws', { origin });
    socket.once('open', () => {
      socket.close();
      resolve(101);
    });
    socket.once('unexpected-response', (_request, response) => resolve(response.statusCode));
    socket.on('error', () => undefined);
  });
}

function say(socket: WebSocket, ...messages: object[]): void {
  for (const message of messages) socket.send(JSON.stringify(message));
}

function subscribe(id: string, query: string) {
  return { type: 'subscribe', id, payload: { query } };
}

const init = { type: 'connection_init' };

describe('a credential', () => {
  const whoami = async (options: Partial<ClientOptions>) => {
    const [result] = await all(client(options), '{ whoami }');
    return (result as { data: { whoami: string | null } }).data.whoami;
  };
  const bearer = async () => `Bearer ${await token(['buyer'])}`;

  it.each([
    ['in another letter case', (value: string) => ({ Authorization: value })],
    ['under headers', (value: string) => ({ headers: { Authorization: value } })],
  ])('is taken %s', async (_where, paramsOf) => {
    expect(await whoami({ connectionParams: paramsOf(await bearer()) })).toBe('acme');
  });

  it('is taken from the upgrade request', async () => {
    const authorization = await bearer();
    class WithHeader extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols, { headers: { authorization } });
      }
    }
    expect(await whoami({ webSocketImpl: WithHeader })).toBe('acme');
  });

  it.each([
    ['headers that are no object', async () => ({ headers: 'Bearer x' })],
    ['a token that is none', async () => ({ headers: { authorization: 'Bearer x' } })],
    [
      'two that differ',
      async () => ({ authorization: await bearer(), headers: { authorization: 'Bearer x' } }),
    ],
  ])('that can not be read closes the socket: %s', async (_what, payload) => {
    const socket = await openSocket();
    say(socket, { ...init, payload: await payload() });
    expect((await closeOf(socket)).code).toBe(4403);
  });
});

describe('operations over a websocket', () => {
  it('queries, mutations and subscriptions', async () => {
    const acme = await withAuthorization(['buyer']);
    expect(await all(acme, '{ hello whoami }')).toMatchObject([{ data: { hello: 'world', whoami: 'acme' } }]);
    const mutation = 'mutation { retire(input: { buyerId: "acme", amountCO2e: 5, buyerName: "Acme" }) }';
    expect(await all(acme, mutation)).toMatchObject([{ data: { retire: '5 for Acme: -' } }]);
    expect(await all(acme, 'subscription { ticks(count: 3) }')).toEqual(
      ['1', '2', '3'].map((ticks) => ({ data: { ticks } })),
    );
    await acme.dispose();
  });

  it('by the public', async () => {
    const anonymous = client();
    expect(await all(anonymous, '{ hello }')).toMatchObject([{ data: { hello: 'world' } }]);
    expect(await all(anonymous, '{ whoami }')).toMatchObject([
      { errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] },
    ]);
    await anonymous.dispose();
  });

  it('by a caller whose role is not enough, before anything is subscribed to', async () => {
    const before = server.sources.length;
    const buyer = await withAuthorization(['buyer']);
    await expect(all(buyer, 'subscription { secretTicks }')).resolves.toMatchObject([
      { errors: [{ extensions: { code: 'FORBIDDEN' } }] },
    ]);
    expect(server.sources).toHaveLength(before);
    await buyer.dispose();
  });

  it.each([
    ['of a wrong syntax', '{ hello', 'GRAPHQL_PARSE_FAILED'],
    ['that ask for what is not there', '{ goodbye }', 'GRAPHQL_VALIDATION_FAILED'],
    ['of too many tokens', `{ ${'hello '.repeat(3000)} }`, 'GRAPHQL_PARSE_FAILED'],
  ])('%s, which are refused', async (_what, query, code) => {
    const anonymous = client();
    const problem: unknown = await all(anonymous, query).catch((error: unknown) => error);
    expect(problem).toMatchObject([{ extensions: { code } }]);
    await anonymous.dispose();
  });

  it('of several operations without the name of one, which are refused with what to send', async () => {
    const anonymous = client();
    const problem: unknown = await all(anonymous, 'query A { hello } query B { hello }').catch(
      (error: unknown) => error,
    );
    expect(problem).toMatchObject([
      { message: expect.stringContaining('operationName'), extensions: { code: 'BAD_REQUEST' } },
    ]);
    await anonymous.dispose();
  });

  it('that fail, by the same table as over HTTP', async () => {
    const anonymous = client();
    const wrong = await all(anonymous, 'query ($n: Tonnes!) { tonnes(amount: $n) }', { n: 1.5 });
    expect(wrong).toMatchObject([{ errors: [{ extensions: { code: 'BAD_USER_INPUT', field: 'amount' } }] }]);
    const text = JSON.stringify(await all(anonymous, '{ fail(how: "defect") }'));
    expect(text).toContain('INTERNAL_SERVER_ERROR');
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain('"http"');
    const requestId = /"requestId":"([^"]+)"/.exec(text)?.[1];
    expect(server.log.filter((line) => line.fields['requestId'] === requestId)).toHaveLength(1);
    await anonymous.dispose();
  });

  it('that are given up: the source ends, and the socket goes on', async () => {
    const anonymous = client();
    const stream = anonymous.iterate({ query: 'subscription { ticks(count: 1, wait: true) }' });
    await stream.next();
    const source = server.sources.at(-1);
    await stream.return?.();
    await source?.returned;
    expect(await all(anonymous, '{ hello }')).toMatchObject([{ data: { hello: 'world' } }]);
    await anonymous.dispose();
  });
});

/**
 * graphql-ws ends an operation with `finally { delete ctx.subscriptions[id] }`, which also ended the next
 * operation with the same id.
 */
describe("an id that is used again at once, in spite of graphql-ws's `finally { delete … }`", () => {
  const live = (id: string) => subscribe(id, 'subscription { ticks(count: 1, wait: true) }');
  /** It begins late, so that it is still ending when the client uses its id again. */
  const late = (id: string) => subscribe(id, 'subscription { ticks(count: 1, wait: true, lateMs: 200) }');
  const complete = (id: string) => ({ type: 'complete', id });

  /** A socket, and its messages after the acknowledgement. */
  async function acknowledged(url?: string) {
    const socket = await openSocket(url);
    const told: { type: string; id?: string; payload?: { data: unknown } }[] = [];
    say(socket, init);
    await new Promise((resolve) => socket.once('message', resolve));
    socket.on('message', (data: Buffer) => told.push(JSON.parse(data.toString()) as (typeof told)[number]));
    return { socket, told };
  }

  it.each([
    ['that had events', async (told: unknown[]) => until(() => told.length > 0)],
    ['that has just begun', async () => undefined],
  ])('has the events of its new operation, after one %s', async (_what, hasBegun) => {
    const { socket, told } = await acknowledged();
    for (let round = 1; round <= 5; round += 1) {
      told.length = 0;
      say(socket, live('1'));
      await hasBegun(told);
      told.length = 0;
      say(socket, complete('1'), subscribe('1', 'subscription { ticks(count: 3) }'));
      await until(() => told.some(({ type }) => type === 'complete'));
      const types = told.map(({ type, payload }) => [type, payload?.data]);
      expect(types.slice(-4)).toEqual([
        ['next', { ticks: '1' }],
        ['next', { ticks: '2' }],
        ['next', { ticks: '3' }],
        ['complete', undefined],
      ]);
    }
    socket.close();
  });

  it('is in use again: a third operation closes the socket, and all of them end', async () => {
    const before = server.sources.length;
    const { socket } = await acknowledged();
    const closed = closeOf(socket);
    say(socket, late('1'), complete('1'), live('1'), live('1'));
    expect((await closed).code).toBe(4409);
    await until(() => server.load().sockets === 0);
    for (const source of server.sources.slice(before)) await source.returned;
    await until(() => server.load().subscriptions === 0);
  });

  it('that is in use closes the socket with a reason that fits into a close frame, however long it is', async () => {
    const long = `x${'é'.repeat(200)}`;
    const before = server.log.length;
    const { socket } = await acknowledged();
    const closed = closeOf(socket);
    say(socket, late(long), complete(long), live(long), live(long));
    expect(await closed).toEqual({ code: 4409, reason: `Subscriber for x${'é'.repeat(53)}` });
    expect(server.log).toHaveLength(before);
  });

  it('begins nothing on a socket that has closed meanwhile', async () => {
    const own = await startServer();
    const { socket } = await acknowledged(own.wsUrl);
    say(socket, late('1'), complete('1'), live('1'));
    socket.close();
    await until(() => own.sources.length > 0);
    await own.sources[0]?.returned;
    // What began after it would have a source by now.
    await all(client({ url: own.wsUrl }), '{ hello }');
    expect(own.sources).toHaveLength(1);
    await until(() => own.load().sockets === 0 && own.load().subscriptions === 0);
    await own.close(0);
  });
});

describe('a websocket is closed', () => {
  it.each([
    ['garbage', 'Bearer garbage'],
    ['no text', 7],
    ['another scheme', 'Basic YTpi'],
  ])('4403 for an authorization that is %s', async (_what, authorization) => {
    const socket = await openSocket();
    const closed = closeOf(socket);
    say(socket, { ...init, payload: { authorization } });
    const { code, reason } = await closed;
    expect(code).toBe(4403);
    expect(reason.length).toBeGreaterThan(10);
  });

  it('4403 for a token that has expired, saying so', async () => {
    const authorization = `Bearer ${await token(['buyer'], { expiresInSeconds: -60 })}`;
    const socket = await openSocket();
    const closed = closeOf(socket);
    say(socket, { ...init, payload: { authorization } });
    expect(await closed).toEqual({ code: 4403, reason: 'The token has expired; get a new one.' });
  });

  it.each([
    ['1013 while the database that has the API keys is away', new ConnectionLost('no answer'), 1013],
    ['4500 when a credential could not be judged because of a defect', new Error('a defect'), 4500],
  ])('%s: a good credential is not called a bad one', async (_what, failure, code) => {
    const failing = await startServer({ verifyToken: () => Promise.reject(failure) });
    const socket = await openSocket(failing.wsUrl);
    const closed = closeOf(socket);
    say(socket, { ...init, payload: { authorization: 'Bearer any' } });
    expect((await closed).code).toBe(code);
    await failing.close(0);
  });

  it('1013 while the keys for tokens are not known, which is not held against the address', async () => {
    let refusedCredentials = 0;
    const rateLimits = {
      ...createRateLimits(testLimits(), null, { warn: () => undefined }),
      noteRefusedCredential: async () => void (refusedCredentials += 1),
    };
    const verifyToken = () => Promise.reject(new DomainError('OVERLOADED', 'Try again shortly.'));
    const keyless = await startServer({ rateLimits, verifyToken });
    const socket = await openSocket(keyless.wsUrl);
    const closed = closeOf(socket);
    say(socket, { ...init, payload: { authorization: 'Bearer any' } });
    expect(await closed).toEqual({ code: 1013, reason: 'Try again shortly.' });
    expect(refusedCredentials).toBe(0);
    await keyless.close(0);
  });

  it('4403 at the moment its token expires, and its subscriptions with it', async () => {
    // The server's clock is 299 s ahead of the signer's, whose token lasts 300 s.
    const ahead = await startServer({ clock: { now: () => new Date(Date.now() + 299_000) } });
    const socket = await openSocket(ahead.wsUrl);
    const closed = closeOf(socket);
    const authorization = `Bearer ${await token(['buyer'])}`;
    say(socket, { ...init, payload: { authorization } });
    await new Promise((resolve) => socket.once('message', resolve));
    say(socket, subscribe('1', 'subscription { ticks(count: 1, wait: true) }'));
    expect(await closed).toEqual({ code: 4403, reason: 'The token has expired.' });
    for (const source of ahead.sources) await source.returned;
    await ahead.close(0);
  });

  it('4400 for what is no message, 4401 before connection_init, 4429 after a second one', async () => {
    const closes: [string[], number][] = [
      [['{'], 4400],
      [[JSON.stringify(subscribe('1', '{ hello }'))], 4401],
      [[JSON.stringify(init), JSON.stringify(init)], 4429],
    ];
    for (const [messages, code] of closes) {
      const socket = await openSocket();
      const closed = closeOf(socket);
      for (const message of messages) socket.send(message);
      expect((await closed).code).toBe(code);
    }
  });

  it.each([
    { type: 'connection_ack' },
    { id: '1', type: 'next', payload: {} },
    { id: '1', type: 'error', payload: [{ message: 'x' }] },
  ])('4400 for what servers send, which is no defect of this one: $type', async (message) => {
    const before = server.log.length;
    const socket = await openSocket();
    const closed = closeOf(socket);
    say(socket, init, message);
    expect((await closed).code).toBe(4400);
    expect(server.log).toHaveLength(before);
  });

  it.each([true, false])('1007 for bytes that are not UTF-8, binary: %s', async (binary) => {
    const socket = await openSocket();
    const closed = closeOf(socket);
    socket.send(Buffer.from(JSON.stringify({ ...init, payload: { name: 'Müller' } }), 'latin1'), { binary });
    expect((await closed).code).toBe(1007);
  });

  it('4409 for an id that is in use', async () => {
    const socket = await openSocket();
    const closed = closeOf(socket);
    say(socket, init);
    await new Promise((resolve) => socket.once('message', resolve));
    const live = subscribe('1', 'subscription { ticks(count: 1, wait: true) }');
    say(socket, live, live);
    expect((await closed).code).toBe(4409);
  });

  it('1009 for a message over 64 kB', async () => {
    const socket = await openSocket();
    const closed = closeOf(socket);
    say(socket, { ...init, payload: { filler: 'x'.repeat(65 * 1024) } });
    expect((await closed).code).toBe(1009);
  });

  it('1001 when the server stops', async () => {
    const stopping = await startServer();
    const socket = await openSocket(stopping.wsUrl);
    const closed = closeOf(socket);
    await stopping.close(1000);
    expect((await closed).code).toBe(1001);
  });

  it('1001, or cut off after the grace when it does not close its side; no timer is left of either', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const stopping = await startServer();
    const timers = vi.getTimerCount();
    const gone = await openSocket(stopping.wsUrl);
    gone.close();
    await until(() => stopping.load().sockets === 0);
    expect(vi.getTimerCount()).toBe(timers);
    const [ready, silent] = [await openSocket(stopping.wsUrl), await openSocket(stopping.wsUrl)];
    silent.pause();
    const closed = closeOf(ready);
    const stopped = stopping.close(1_000);
    expect((await closed).code).toBe(1001);
    await vi.advanceTimersByTimeAsync(1_000);
    await stopped;
    silent.terminate();
    // The check for stalled sockets has ended, too.
    expect(vi.getTimerCount()).toBe(timers - 1);
  });

  it('leaves no timer when all sockets are closed within the grace', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const stopping = await startServer();
    const timers = vi.getTimerCount();
    const closed = closeOf(await openSocket(stopping.wsUrl));
    await stopping.close(1_000);
    await closed;
    expect(vi.getTimerCount()).toBe(timers - 1);
  });

  /** A server that keeps the connections waiting from the given one on. */
  async function slowToAdmit(from: number) {
    let admit = () => {};
    const waiting = new Promise<void>((resolve) => (admit = resolve));
    let asked = 0;
    const rateLimits = {
      ...createRateLimits(testLimits(), null, { warn: () => undefined }),
      admitAddress: async () => {
        asked += 1;
        if (asked >= from) await waiting;
      },
    };
    return { admitting: await startServer({ rateLimits }), admit, asked: () => asked };
  }

  it('before it opens, when it waits for its admission while the server stops', async () => {
    const { admitting: stopping, admit, asked } = await slowToAdmit(2);
    // The socket never answers the close frame, so the server waits for it.
    (await openSocket(stopping.wsUrl)).pause();
    const late = attempt(stopping.wsUrl);
    await until(() => asked() === 2);
    const stopped = stopping.close(300);
    admit();
    expect(await late).toBe(503);
    await stopped;
  });

  it('when its client breaks the connection before it opens, which is no defect of the server', async () => {
    const { admitting, admit, asked } = await slowToAdmit(1);
    const connection = connect(admitting.port, '127.0.0.1');
    connection.write('GET /graphql HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n');
    await until(() => asked() === 1);
    // Without a listener, the error would end the process.
    connection.resetAndDestroy();
    await until(() => admitting.load().sockets === 0);
    admit();
    expect(await attempt(admitting.wsUrl)).toBe(101);
    await admitting.close(0);
  });

  it('never for the server’s own pages, whatever a proxy in front has made of the Host header', async () => {
    const ownOrigin = 'https://credits.test';
    const behindProxy = await startServer({ ownOrigin });
    expect(await attempt(behindProxy.wsUrl, ownOrigin)).toBe(101);
    expect(await attempt(behindProxy.wsUrl, 'https://evil.test')).toBe(403);
    await behindProxy.close(0);
  });

  it('before it opens, for a page of an origin that is not allowed, and anywhere but at the API', async () => {
    expect(await attempt(server.wsUrl, 'https://evil.test')).toBe(403);
    expect(await attempt(server.wsUrl, server.url)).toBe(101);
    expect(await attempt(server.wsUrl.replace('/graphql', '/other'))).toBe(404);
  });
});

describe('a websocket is limited', () => {
  it('to 100 operations at a time: one more is refused, the others go on', async () => {
    const anonymous = client();
    const streams = Array.from({ length: 100 }, () =>
      anonymous.iterate({ query: 'subscription { ticks(count: 1, wait: true) }' }),
    );
    await Promise.all(streams.map((stream) => stream.next()));
    const problem: unknown = await all(anonymous, '{ hello }').catch((error: unknown) => error);
    expect(problem).toMatchObject([{ extensions: { code: 'RATE_LIMITED', limit: 100 } }]);
    await streams[0]?.return?.();
    expect(await all(anonymous, '{ hello }')).toMatchObject([{ data: { hello: 'world' } }]);
    await anonymous.dispose();
  });

  it('to 200 operations at a time with those that it has given up and that are still ending', async () => {
    const socket = await openSocket();
    say(socket, init);
    await new Promise((resolve) => socket.once('message', resolve));
    for (let id = 0; id <= 200; id += 1) {
      say(socket, subscribe(`${id}`, 'subscription { ticks(count: 1, wait: true, lateMs: 2000) }'));
      say(socket, { type: 'complete', id: `${id}` });
    }
    const told = new Promise<Buffer>((resolve) => socket.once('message', resolve));
    say(socket, subscribe('last', '{ hello }'));
    expect(JSON.parse(String(await told))).toMatchObject({
      id: '200',
      type: 'error',
      payload: [{ extensions: { code: 'RATE_LIMITED', limit: 100 } }],
    });
    socket.close();
  });
});

describe('a client that does not read', () => {
  const stallMs = 400;
  /** Far above the kernel's buffers and one event, far below the output of an eager server. */
  const maxPulls = 500;
  let impatient: TestServer;

  beforeAll(async () => {
    impatient = await startServer({ socketStallMs: stallMs });
  });

  afterAll(() => impatient.close(0));

  it('is not one to whom nothing is sent: its socket stays open', async () => {
    const socket = await openSocket(impatient.wsUrl);
    say(socket, init);
    await new Promise((resolve) => socket.once('message', resolve));
    await delay(3 * stallMs);
    say(socket, subscribe('1', '{ hello }'));
    await new Promise((resolve) => socket.once('message', resolve));
    expect(socket.readyState).toBe(socket.OPEN);
    socket.close();
  });

  it('is sent no more than its socket holds, then cut off, while others are served', async () => {
    const socket = await openSocket(impatient.wsUrl);
    const closed = closeOf(socket);
    say(socket, init);
    await new Promise((resolve) => socket.once('message', resolve));
    say(socket, subscribe('1', 'subscription { ticks(bytes: 100000) }'));
    await until(() => impatient.sources.length === 1);
    socket.pause();

    const other = client({ url: impatient.wsUrl });
    expect(await all(other, 'subscription { ticks(count: 2) }')).toHaveLength(2);
    await other.dispose();

    const [source] = impatient.sources;
    await source?.returned;
    expect(source?.pulls).toBeGreaterThan(0);
    expect(source?.pulls).toBeLessThan(maxPulls);
    socket.resume();
    expect((await closed).code).toBe(1006);
  });

  it('cannot make the server collect answers by sending on and on', async () => {
    const socket = await openSocket(impatient.wsUrl);
    socket.on('error', () => undefined);
    say(socket, init);
    await new Promise((resolve) => socket.once('message', resolve));
    socket.pause();
    const ping = JSON.stringify({ type: 'ping', payload: { filler: 'x'.repeat(60_000) } });
    const count = 1000;
    let taken = 0;
    // Sends wait for the server to read, and fail once it has cut the socket off.
    await Promise.all(
      Array.from(
        { length: count },
        () =>
          new Promise<void>((resolve) =>
            socket.send(ping, (error) => {
              if (!error) taken += 1;
              resolve();
            }),
          ),
      ),
    );
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(count);
  });
});
