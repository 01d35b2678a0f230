/**
 * Too many requests, mutations and bad credentials, and too much work: each is refused with a way to retry,
 * and other clients are not affected.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { sql } from 'drizzle-orm';
import { describe, expect, it, vi } from 'vitest';
import { ConnectionLost } from '../../../src/db/connectionLost.ts';
import { rateLimits } from '../../../src/db/tables/index.ts';
import { createDocumentTurns } from '../../../src/http/documents/documentTurns.ts';
import type { HookDelivery } from '../../../src/http/server/hooks.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import { createRateLimits } from '../../../src/limits/rateLimits.ts';
import { createSharedBudget } from '../../../src/limits/sharedBudget.ts';
import { createBuilder } from '../../../src/schema/core/createBuilder.ts';
import { askOver, codesOf, TRANSPORTS } from '../../support/http/askOver.ts';
import {
  HELLO,
  post,
  serveWith as serve,
  serveWithoutRefill,
  statusFrom,
} from '../../support/http/flooded.ts';
import { token, until, testLimits } from '../../support/http/httpServer.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { silentLog } from '../../../devnet/platform.ts';

const RETIRE = {
  query: 'mutation { retire(input: { buyerId: "acme", amountCO2e: 5, buyerName: "Acme" }) }',
};

describe('deliveries', () => {
  it('beyond the budget of an address are dropped before they are read, and counted in one line', async () => {
    let handled = 0;
    const count = async () => void (handled += 1);
    const server = await serve(
      { RATE_LIMIT_ADDRESS_PER_MINUTE: 2 },
      {
        hooks: { retirements: count, payoutSettled: count },
      },
    );
    for (let i = 0; i < 20; i++) {
      const path = i % 2 === 0 ? '/api/hooks/retirements' : '/api/webhooks/payout-settled';
      const response = await fetch(server.url + path, { method: 'POST', body: '{}' });
      expect([response.status, await response.text()]).toEqual([200, '']);
    }
    expect(handled).toBe(2);
    await expect
      .poll(() => server.log.reduce((sum, { fields }) => sum + Number(fields['count'] ?? 0), 0))
      .toBe(18);
    expect(server.log.length).toBeLessThan(18);
    expect(server.log[0]).toMatchObject({
      message: 'deliveries were refused',
      fields: { remoteAddresses: ['127.0.0.1'], reasons: ['RATE_LIMITED'] },
    });
  });
});

describe('deliveries while the database is away', () => {
  it('are answered as ever, and counted in a line a second', async () => {
    const lose = async () => {
      throw new ConnectionLost('The connection to the database ended.');
    };
    const server = await serve({}, { hooks: { retirements: lose, payoutSettled: lose } });
    for (let i = 0; i < 20; i++) {
      const response = await fetch(`${server.url}/api/hooks/retirements`, { method: 'POST', body: '{}' });
      expect([response.status, await response.text()]).toEqual([200, '']);
    }
    await expect
      .poll(() => server.log.reduce((sum, { fields }) => sum + Number(fields['count'] ?? 0), 0))
      .toBe(20);
    expect(server.log.length).toBeLessThan(20);
    for (const { fields } of server.log) expect(fields['reasons']).toEqual(['DATABASE_UNAVAILABLE']);
  });
});

describe('refused deliveries', () => {
  it.each<[string, RequestInit]>([
    ['their handler does not believe', { body: '{}' }],
    ['are too long', { body: 'x'.repeat(256 * 1024 + 1) }],
    ['are encoded', { body: '{}', headers: { 'content-encoding': 'gzip' } }],
  ])(
    'that %s use up the patience with an address: the next ones are dropped before they are read',
    async (_, refused) => {
      let accepted = 0;
      const refuse = async () => 'unverified';
      const accept = async () => void (accepted += 1);
      const server = await serve({}, { hooks: { retirements: refuse, payoutSettled: accept } });
      const deliver = async (path: string, init: RequestInit) => {
        const response = await fetch(server.url + path, { method: 'POST', ...init });
        await response.text();
        return response;
      };
      // Accepted deliveries cost the address nothing.
      for (let i = 0; i < 130; i++) await deliver('/api/webhooks/payout-settled', { body: '{}' });
      for (let i = 0; i < 120; i++) await deliver('/api/hooks/retirements', refused);
      const dropped = await deliver('/api/webhooks/payout-settled', { body: '{}' });
      expect([dropped.status, dropped.headers.get('connection')]).toEqual([200, 'close']);
      expect(accepted).toBe(130);
      // The address's requests are not affected.
      expect((await askOver('http', server.api, HELLO)).errors).toEqual([]);
    },
  );

  it('take turns by address: those of one, which wait for long, leave room for those of another', async () => {
    const begun: string[] = [];
    let end = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    const wait = async ({ remoteAddress }: HookDelivery) => {
      begun.push(remoteAddress);
      await ended;
      return null;
    };
    const { port, log } = await serve({}, { hooks: { retirements: wait, payoutSettled: wait } });
    const deliver = async (localAddress: string) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      await once(socket, 'connect');
      socket.write('POST /api/hooks/retirements HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}');
      return socket;
    };
    const sockets = await Promise.all(Array.from({ length: 201 }, () => deliver('127.0.0.1')));
    // The allowed number is under way, as many wait, and one delivery is refused.
    await until(() => log.length > 0);
    expect(log[0]).toMatchObject({ message: 'deliveries were refused', fields: { reasons: ['OVERLOADED'] } });
    sockets.push(await deliver('127.0.0.2'));
    await expect.poll(() => log.length).toBeGreaterThan(1);
    end();
    await expect.poll(() => begun).toContain('127.0.0.2');
    for (const socket of sockets) socket.destroy();
  });

  it('are logged without the queries of their addresses, which may hold a secret', async () => {
    const refuse = async () => 'unverified';
    const server = await serve({}, { hooks: { retirements: refuse, payoutSettled: refuse } });
    for (let i = 0; i < 3; i++) {
      const path = `/api/hooks/retirements?secret=${i}${'x'.repeat(10_000)}`;
      await fetch(server.url + path, { method: 'POST', body: '{}' });
    }
    await expect
      .poll(() => server.log.reduce((sum, { fields }) => sum + Number(fields['count'] ?? 0), 0))
      .toBe(3);
    for (const { fields } of server.log) expect(fields['paths']).toEqual(['/api/hooks/retirements']);
  });
});

describe('pages', () => {
  it.each([
    ['that are there', '/'],
    ['that are missing', '/missing'],
    ['that no path leads to', '/elsewhere'],
  ])(
    '%s count as computing time of their address, and are refused in few bytes beyond it',
    async (_, path) => {
      const page = { status: 200, headers: {}, body: '<!doctype html>' };
      let made = 0;
      const pages = {
        has: (asked: string) => asked !== '/elsewhere',
        async answer(request: { path: string }) {
          made += 1;
          if (request.path === '/asset') return { ...page, body: Buffer.from('bytes') };
          if (request.path === '/') return page;
          throw new DomainError('NOT_FOUND', 'There is no page at this address.');
        },
        failure: () => ({ ...page, status: 404 }),
      };
      const server = await serveWithoutRefill({ pages });
      // Sending a finished file costs nothing.
      for (let i = 0; i < 20; i++) expect((await fetch(`${server.url}/asset`)).status).toBe(200);
      const ask = () => fetch(server.url + path, { headers: { accept: 'text/html' } });
      let answer = await ask();
      let madeBefore = made;
      for (let i = 0; answer.status !== 429 && i < 100; i++) {
        madeBefore = made;
        answer = await ask();
      }
      expect(answer.status).toBe(429);
      expect(made).toBe(madeBefore);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await answer.text()).toMatch(/^Your network has asked for more .* Try again in \d+ s\.\n$/);
      expect(await statusFrom('127.0.0.2', `${server.url}/`)).toBe(200);
    },
  );
});

describe('files of the logs', () => {
  const file = (body: string) => ({ body, contentType: 'text/plain', keptSeconds: 2 });

  it('are read two at a time for one address, and hold up no other', async () => {
    const reading: (() => void)[] = [];
    const readLogFile = async (path: string) => {
      if (path === 'slow') await new Promise<void>((resolve) => void reading.push(resolve));
      return file('a line');
    };
    const { url, load } = await serve({}, { readLogFile });
    const asked = Array.from({ length: 10 }, () => fetch(`${url}/logs/slow`));
    await until(() => load().unfinishedRequests === 10);
    expect(await statusFrom('127.0.0.2', `${url}/logs/fast`)).toBe(200);
    for (let read = 0; read < 10; read += 1) {
      await until(() => reading.length > 0);
      expect(reading.length).toBeLessThanOrEqual(2);
      reading.pop()?.();
    }
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200);
  });

  it('count as computing time of their address, by their bytes', async () => {
    const charged: [string, number][] = [];
    const cpuThrottle = {
      charge: (...charge: [string, number]) => void charged.push(charge),
      awaitTurn: () => null,
    };
    const rateLimits = createRateLimits(testLimits(), null, silentLog, { cpuThrottle });
    const readLogFile = async () => file('x'.repeat(1024 * 1024));
    const { url } = await serve({}, { rateLimits, readLogFile });
    expect((await fetch(`${url}/logs/large`)).status).toBe(200);
    expect(charged).toEqual([['127.0.0.1', expect.closeTo(50, -1)]]);
  });
});

describe('requests', () => {
  it.each(TRANSPORTS)(
    'over %s beyond the budget of an address are RATE_LIMITED, others are served',
    async (over) => {
      // A websocket takes one point, and each of its operations another.
      const { api } = await serve({ RATE_LIMIT_ADDRESS_PER_MINUTE: 6 });
      const replies = [];
      for (let i = 0; i < 6; i++) replies.push(await askOver(over, api, HELLO).catch(() => null));
      const last = await askOver(over, api, HELLO).catch((error: Error) => error.message);
      if (over === 'websocket') expect(last).toBe('Unexpected server response: 429');
      else {
        expect(last).toMatchObject({ status: 429 });
        const { headers, errors } = last as Awaited<ReturnType<typeof askOver>>;
        expect(errors[0]?.extensions).toEqual({
          code: 'RATE_LIMITED',
          policy: 'address',
          limit: 6,
          retryAfterSeconds: Number(headers?.get('retry-after')),
        });
        expect(headers?.get('ratelimit-policy')).toBe('"address";q=6;w=60');
        expect(headers?.get('ratelimit')).toMatch(/^"address";r=0;t=\d+$/);
      }
      expect(await statusFrom('127.0.0.2', api)).toBe(200);
    },
  );

  it.each(TRANSPORTS)(
    'over %s beyond the budget of a caller are RATE_LIMITED, other callers are served',
    async (over) => {
      const { api } = await serve({ RATE_LIMIT_CALLER_PER_MINUTE: 3 });
      const acme = await token(['buyer']);
      for (let i = 0; i < 3; i++) {
        expect((await askOver(over, api, { ...HELLO, bearer: acme })).errors).toEqual([]);
      }
      const refused = await askOver(over, api, { ...HELLO, bearer: acme });
      expect(refused.errors[0]?.extensions).toMatchObject({
        code: 'RATE_LIMITED',
        policy: 'caller',
        limit: 3,
      });
      expect(refused.errors[0]?.extensions['retryAfterSeconds']).toBeGreaterThan(0);
      const globex = await token(['buyer'], { subject: 'globex' });
      expect((await askOver(over, api, { ...HELLO, bearer: globex })).errors).toEqual([]);
      expect((await askOver(over, api, HELLO)).errors).toEqual([]);
    },
  );

  it('that come all at once take turns with those of other addresses', async () => {
    const begun: string[] = [];
    const { port } = await serve(
      {},
      {
        hooks: {
          retirements: async ({ remoteAddress }) => void begun.push(remoteAddress),
          payoutSettled: async () => undefined,
        },
      },
    );
    const open = async (localAddress: string) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      await once(socket, 'connect');
      return socket;
    };
    const delivery = 'POST /api/hooks/retirements HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}';
    const busy = await Promise.all(Array.from({ length: 10 }, () => open('127.0.0.1')));
    const other = await open('127.0.0.2');
    // The answer shows that the server has accepted all connections.
    other.write(delivery);
    await expect.poll(() => begun.splice(0)).toEqual(['127.0.0.2']);
    // All are sent before the server, in this same process, can read.
    for (const socket of busy) socket.write(delivery.repeat(10));
    other.write(delivery);
    await expect.poll(() => begun.length).toBe(101);
    expect(begun.indexOf('127.0.0.2')).toBeLessThan(50);
    for (const socket of [...busy, other]) socket.destroy();
  });

  it.each<Record<string, string>>([{}, { 'transfer-encoding': 'chunked' }])(
    'of the largest size are handed on without a list of their characters',
    async (headers) => {
      const { api } = await serve({});
      let longest = 0;
      const { keys } = Object;
      Object.keys = (value: object) => {
        const found = keys(value);
        longest = Math.max(longest, found.length);
        return found;
      };
      // The server does not know this document, so it does not take the short way.
      const query = `{ hello } # ${'x'.repeat(90_000)}`;
      const body = JSON.stringify({ query });
      const { status, text } = await post(api, body, {
        'content-type': 'application/json',
        ...headers,
      }).finally(() => {
        Object.keys = keys;
      });
      expect([status, text]).toEqual([200, expect.stringContaining('"hello":"world"')]);
      expect(longest).toBeLessThan(1_000);
    },
  );

  it.each([
    ['for what is not there', 'GET', '/nowhere'],
    ['of a wrong method to a hook', 'GET', '/api/hooks/retirements'],
    ['of a wrong method to the metrics', 'POST', '/metrics'],
    ['that end like a health probe of yoga', 'GET', '/graphql?/health'],
  ])('%s count, but health probes do not', async (_what, method, path) => {
    const metrics = { access: 'private', contentType: 'text/plain', read: async () => '' } as const;
    const { url } = await serve({ RATE_LIMIT_ADDRESS_PER_MINUTE: 2 }, { metrics });
    const ask = async () => (await fetch(url + path, { method })).status;
    const served = [await ask(), await ask()];
    expect(served).not.toContain(429);
    expect(await ask()).toBe(429);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  it('get what is left', async () => {
    const { api } = await serve({ RATE_LIMIT_ADDRESS_PER_MINUTE: 10, RATE_LIMIT_CALLER_PER_MINUTE: 5 });
    const reply = await askOver('http', api, { ...HELLO, bearer: await token(['buyer']) });
    expect(reply.headers?.get('ratelimit-policy')).toBe('"address";q=10;w=60, "caller";q=5;w=60');
    expect(reply.headers?.get('ratelimit')).toMatch(/^"address";r=9;t=\d+, "caller";r=4;t=\d+$/);
  });

  it('by one client, two hundred at a time, are let through by the defaults', async () => {
    const { api } = await serve({});
    const bearer = await token(['buyer']);
    const replies = await Promise.all(
      Array.from({ length: 200 }, () => askOver('http', api, { ...RETIRE, bearer })),
    );
    expect(replies.flatMap((reply) => reply.errors)).toEqual([]);
  });

  it('from behind a trusted proxy count for the address that it names, whatever the client adds', async () => {
    const { api } = await serve({ RATE_LIMIT_ADDRESS_PER_MINUTE: 2, TRUSTED_PROXY_HOPS: 1 });
    const from = async (forwarded: string) =>
      (await fetch(`${api}?query=%7Bhello%7D`, { headers: { 'x-forwarded-for': forwarded } })).status;
    expect(await from('9.9.9.9, 203.0.113.5')).toBe(200);
    expect(await from('8.8.8.8, 203.0.113.5')).toBe(200);
    expect(await from('7.7.7.7, 203.0.113.5')).toBe(429);
    expect(await from('203.0.113.6')).toBe(200);
  });
});

describe('documents that the server does not know', () => {
  it('take turns by address, and are refused once their address has used up its computing time', async () => {
    const order: string[] = [];
    const spent = new Set<string>();
    const charged: string[] = [];
    const takeDocument = createDocumentTurns({
      source: { documentOf: ({ query }) => ({ text: String(query) }) },
      isParsed: (text) => text.startsWith('known'),
      requireCpu(address) {
        if (spent.has(address)) throw new DomainError('RATE_LIMITED', 'too much');
      },
      // Leaves out the time that a busy machine took to look at the text.
      chargeCpu: (address, ms) => void (ms === 2 && charged.push(address)),
    });
    const ask = async (query: string, address: string) => {
      await takeDocument({ query }, address);
      order.push(query);
    };
    const greedy = [1, 2, 3].map((i) => ask(`greedy ${i}`, '192.0.2.1'));
    const refused = greedy
      .slice(1)
      .map((asked) => expect(asked).rejects.toMatchObject({ code: 'RATE_LIMITED' }));
    const modest = ask('modest', '192.0.2.2').then(() => spent.add('192.0.2.1'));
    await ask('known', '192.0.2.3');
    // Runs after all work that waits for no turn of the event loop.
    await new Promise(process.nextTick);
    // The others wait for turns of the event loop.
    expect(order).toEqual(['known']);
    await Promise.all([modest, ...refused]);
    expect(order).toEqual(['known', 'greedy 1', 'modest']);
    expect(charged).toEqual(['192.0.2.1', '192.0.2.2']);
  });

  it('are charged for what comparing them with the trusted ones takes, also when they are refused', async () => {
    let charged = 0;
    const takeDocument = createDocumentTurns({
      source: {
        documentOf() {
          const { user } = process.cpuUsage();
          while (process.cpuUsage().user - user < 30_000);
          throw new DomainError('DOCUMENT_NOT_TRUSTED', 'not trusted');
        },
      },
      isParsed: () => false,
      requireCpu: () => undefined,
      chargeCpu: (_address, ms) => void (charged += ms),
    });
    await expect(takeDocument({ query: '{ deep }' }, '192.0.2.1')).rejects.toThrow('not trusted');
    expect(charged).toBeGreaterThan(20);
  });
});

describe('operations that the server knows', () => {
  const builder = createBuilder<object>();
  const fail = () => {
    throw new DomainError('NOT_FOUND', 'There is none.');
  };
  builder.queryType({
    fields: (t) => ({
      hello: t.string({ authScopes: { public: true }, resolve: () => 'world' }),
      none: t.string({ authScopes: { public: true }, nullable: true, resolve: fail }),
    }),
  });
  const schema = builder.toSchema();

  it('are charged for dozens of errors, and refused beyond the computing time of their address', async () => {
    const question = { query: `{ ${Array.from({ length: 45 }, (_, i) => `a${i}: none`).join(' ')} }` };
    const { api } = await serveWithoutRefill({ schema });
    const limited = async () => {
      const { errors } = await askOver('http', api, question);
      return errors.some(({ extensions }) => extensions['policy'] === 'cpu');
    };
    let asked = 0;
    while (asked < 100 && !(await limited())) asked += 1;
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThan(100);
    expect(await statusFrom('127.0.0.2', api)).toBe(200);
  });
});

describe('mutations', () => {
  it.each(TRANSPORTS)('over %s have a budget of their own, by their fields', async (over) => {
    const { api } = await serve({ RATE_LIMIT_MUTATIONS_PER_MINUTE: 3 });
    const bearer = await token(['buyer']);
    const field = 'retire(input: { buyerId: "acme", amountCO2e: 5, buyerName: "Acme" })';
    const two = { query: `mutation { a: ${field} b: ${field} }`, bearer };
    expect((await askOver(over, api, two)).errors).toEqual([]);
    const refused = await askOver(over, api, two);
    expect(refused.errors[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED', policy: 'mutations' });
    expect(refused.data).toBeNull();
    if (over === 'http') {
      expect(refused.status).toBe(429);
      expect(Number(refused.headers?.get('retry-after'))).toBeGreaterThan(0);
      expect(refused.headers?.get('ratelimit-policy')).toContain('"mutations";q=3;w=60');
    }
    expect((await askOver(over, api, { ...HELLO, bearer })).errors).toEqual([]);
    const globex = await token(['operator'], { subject: 'globex' });
    expect((await askOver(over, api, { ...RETIRE, bearer: globex })).errors).toEqual([]);
  });
});

describe('refusals', () => {
  it('of one address or caller wait for their turn, and hold up no other', async () => {
    const waiting: { key: string; refuse: () => void }[] = [];
    const delayRefusal = (key: string) =>
      new Promise<void>((resolve) => void waiting.push({ key, refuse: resolve }));
    const settings = { ...testLimits(), RATE_LIMIT_ADDRESS_PER_MINUTE: 4, RATE_LIMIT_CALLER_PER_MINUTE: 1 };
    const { api } = await serve(
      {},
      { rateLimits: createRateLimits(settings, null, silentLog, { delayRefusal }) },
    );
    const bearer = await token(['buyer'], { subject: 'acme' });
    expect((await askOver('http', api, { ...HELLO, bearer })).errors).toEqual([]);
    const asCaller = askOver('http', api, { ...HELLO, bearer });
    await until(() => waiting.length === 1);
    for (let i = 0; i < 2; i++) expect((await askOver('http', api, HELLO)).errors).toEqual([]);
    const asAddress = askOver('http', api, HELLO);
    await until(() => waiting.length === 2);
    expect(await statusFrom('127.0.0.2', api)).toBe(200);
    expect(waiting.map(({ key }) => key)).toEqual(['acme', '127.0.0.1']);
    for (const { refuse } of waiting) refuse();
    for (const reply of await Promise.all([asCaller, asAddress]))
      expect([reply.status, codesOf(reply)]).toEqual([429, ['RATE_LIMITED']]);
  });
});

describe('requests', () => {
  it.each(TRANSPORTS)('over %s wait until their address has rested from what it computed', async (over) => {
    const charged = new Map<string, number>();
    let goOn = () => {};
    const rested = new Promise<void>((resolve) => (goOn = resolve));
    const cpuThrottle = {
      charge: (key: string, ms: number) => void charged.set(key, (charged.get(key) ?? 0) + ms),
      awaitTurn: (key: string) => (charged.has(key) ? rested : null),
    };
    const settings = testLimits();
    const { api } = await serve(
      {},
      { rateLimits: createRateLimits(settings, null, silentLog, { cpuThrottle }) },
    );
    expect((await askOver(over, api, { query: '{ first: hello }' })).errors).toEqual([]);
    expect(charged.get('127.0.0.1')).toBeGreaterThan(0);
    let isAnswered = false;
    const second = askOver(over, api, HELLO).finally(() => (isAnswered = true));
    expect(await statusFrom('127.0.0.2', api)).toBe(200);
    expect(isAnswered).toBe(false);
    goOn();
    expect((await second).errors).toEqual([]);
  });
});

describe('queries', () => {
  it('that wait for a place of their address delay its next requests', async () => {
    const charged: [string, number][] = [];
    const cpuThrottle = {
      charge: (...charge: [string, number]) => void charged.push(charge),
      awaitTurn: () => null,
    };
    // Computing time on a busy machine is charged in fractions.
    const delays = () => charged.filter(([, ms]) => Number.isInteger(ms));
    const settings = testLimits();
    const running: (() => void)[] = [];
    const builder = createBuilder<object>();
    const slow = () => new Promise<string>((resolve) => void running.push(() => resolve('done')));
    builder.queryType({
      fields: (t) => ({ slow: t.string({ authScopes: { public: true }, resolve: slow }) }),
    });
    const { api } = await serve(
      { MAX_QUERIES_IN_FLIGHT: 2 },
      {
        schema: builder.toSchema(),
        rateLimits: createRateLimits(settings, null, silentLog, { cpuThrottle }),
      },
    );
    const ask = () => askOver('http', api, { query: '{ slow }' });
    const first = ask();
    await until(() => running.length === 1);
    running.pop()?.();
    await first;
    charged.length = 0;
    const asked = [ask(), ask()];
    await until(() => running.length === 2);
    expect(delays()).toEqual([]);
    asked.push(ask());
    await until(() => delays().length > 0);
    expect(delays()).toEqual([['127.0.0.1', 1]]);
    for (const end of running.splice(0)) end();
    await until(() => running.length === 1);
    running.pop()?.();
    for (const { data } of await Promise.all(asked)) expect(data).toEqual({ slow: 'done' });
  });
});

describe('bad credentials', () => {
  it('use up the patience with an address, on all transports together', async () => {
    const { api, wsUrl } = await serve({ RATE_LIMIT_REFUSED_CREDENTIALS_PER_MINUTE: 3 });
    for (const over of TRANSPORTS) await askOver(over, api, { ...HELLO, bearer: 'bad' });
    const good = await token(['buyer']);
    const refused = await askOver('http', api, { ...HELLO, bearer: good });
    expect([refused.status, codesOf(refused)]).toEqual([429, ['RATE_LIMITED']]);
    const socket = await askOver('websocket', wsUrl.replace('ws', 'http'), { ...HELLO, bearer: good });
    expect(socket.closeCode).toBe(4429);
    expect(socket.closeReason).toContain('refused-credentials');
    // Requests without a credential, and from another address, are not affected.
    expect((await askOver('http', api, HELLO)).errors).toEqual([]);
    expect(await statusFrom('127.0.0.2', api, `Bearer ${good}`)).toBe(200);
  });
});

describe('budgets', () => {
  it('are shared by instances through the database, and survive its absence', async () => {
    const database = await createTestDatabase();
    const settings = { ...testLimits(), RATE_LIMIT_CALLER_PER_MINUTE: 100 };
    const limits = [1, 2].map(() => createRateLimits(settings, database.handle.db, silentLog));
    const servers = await Promise.all(limits.map((rateLimits) => serve({}, { rateLimits })));
    const bearer = await token(['buyer']);
    const ask = (i: number) => askOver('http', servers[i]?.api ?? '', { ...HELLO, bearer });
    for (let n = 0; n < 60; n++) expect((await ask(0)).errors).toEqual([]);
    // Within about a second the second instance learns how much the first has let through.
    let let2 = 0;
    await expect
      .poll(
        async () => {
          const reply = await ask(1);
          if (reply.errors.length === 0) let2 += 1;
          return codesOf(reply);
        },
        { interval: 40 },
      )
      .toEqual(['RATE_LIMITED']);
    expect(let2).toBeLessThan(100);
    for (const limit of limits) await limit.stop();
    await database.drop();
    const orphan = createRateLimits(
      { ...settings, RATE_LIMIT_CALLER_PER_MINUTE: 2 },
      database.handle.db,
      silentLog,
    );
    const alone = await serve({}, { rateLimits: orphan });
    const codes = [];
    for (let n = 0; n < 3; n++) {
      codes.push(codesOf(await askOver('http', alone.api, { ...HELLO, bearer })));
    }
    await orphan.stop();
    expect(codes).toEqual([[], [], ['RATE_LIMITED']]);
  });

  it('last for their window by the clock of the database, however wrong those of instances are', async () => {
    const { handle } = await createTestDatabase();
    const policy = { name: 'caller', points: 100, windowSeconds: 60 };
    const spendOnAnother = async (hours: number, points: number) => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 });
      const another = createSharedBudget(policy, handle.db);
      another.spend('acme', points);
      await another.share();
      vi.useRealTimers();
    };
    const right = createSharedBudget(policy, handle.db);
    const usage = async () => {
      right.spend('acme', 10);
      await right.share();
      const { remainingPoints, resetSeconds } = right.peek('acme');
      expect(resetSeconds).toBeLessThanOrEqual(60);
      return remainingPoints;
    };
    await spendOnAnother(5, 20);
    expect(await usage()).toBe(70);
    await spendOnAnother(-5, 20);
    expect(await usage()).toBe(40);
    // Simulates a database clock that is set back.
    await handle.db.update(rateLimits).set({ endsAt: sql`now() + interval '5 hours'` });
    expect(await usage()).toBe(90);
  });

  it('are told to other instances later when the database could not be reached', async () => {
    const { handle } = await createTestDatabase();
    const policy = { name: 'caller', points: 100, windowSeconds: 60 };
    const [one, other] = [createSharedBudget(policy, handle.db), createSharedBudget(policy, handle.db)];
    one.spend('acme', 30);
    await handle.db.execute(sql`ALTER TABLE rate_limits RENAME TO out_of_reach`);
    await expect(one.share()).rejects.toThrow();
    await handle.db.execute(sql`ALTER TABLE out_of_reach RENAME TO rate_limits`);
    await one.share();
    other.spend('acme', 10);
    await other.share();
    expect(other.peek('acme')).toMatchObject({ remainingPoints: 60 });
  });

  it('of an address are not those of a caller whose subject is the same text', async () => {
    const { handle } = await createTestDatabase();
    const limits = createRateLimits(testLimits(), handle.db, silentLog);
    const remoteAddress = '203.0.113.7';
    const rights = { roles: [], warehouseIds: [], expiresAt: 0, apiKeyId: null, jti: null, issuedAt: null };
    const caller = { ...rights, subject: remoteAddress };
    await limits.admitMutations({ caller: null, remoteAddress }, 1_000, []);
    await limits.admitMutations({ caller, remoteAddress }, 1_000, []);
    const read = () => handle.db.select({ key: rateLimits.key }).from(rateLimits).orderBy(rateLimits.key);
    const keys = [`mutations-of-address:${remoteAddress}`, `mutations:${remoteAddress}`];
    await expect.poll(read).toEqual(expect.arrayContaining(keys.map((key) => ({ key }))));
    await limits.stop();
  });

  it('are deleted from the table once their windows have ended', async () => {
    const { handle } = await createTestDatabase();
    const endsAt = (seconds: number) => sql`now() + make_interval(secs => ${seconds})`;
    await handle.db.insert(rateLimits).values([
      { key: 'caller:ended', points: 1, endsAt: endsAt(-1) },
      { key: 'caller:current', points: 1, endsAt: endsAt(3_600) },
    ]);
    vi.useFakeTimers({ toFake: ['performance', 'setInterval'] });
    const limits = createRateLimits(testLimits(), handle.db, silentLog);
    await vi.advanceTimersByTimeAsync(6 * 60_000);
    vi.useRealTimers();
    const read = () => handle.db.select({ key: rateLimits.key }).from(rateLimits);
    await expect.poll(read, { timeout: 15_000 }).toEqual([{ key: 'caller:current' }]);
    await limits.stop();
  });

  it('begin anew after windows in which the database could not be reached, however busy the caller was', async () => {
    const { handle } = await createTestDatabase();
    const renameTable = (from: string, to: string) =>
      handle.db.execute(sql`ALTER TABLE ${sql.identifier(from)} RENAME TO ${sql.identifier(to)}`);
    const budget = createSharedBudget({ name: 'caller', points: 100, windowSeconds: 60 }, handle.db);
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      await renameTable('rate_limits', 'out_of_reach');
      for (let minute = 0; minute < 3; minute++) {
        expect(budget.spend('acme', 50)).toMatchObject({ remainingPoints: 50 });
        await expect(budget.share()).rejects.toThrow();
        vi.advanceTimersByTime(60_000);
      }
      expect(budget.spend('acme', 10)).toMatchObject({ remainingPoints: 90 });
      await renameTable('out_of_reach', 'rate_limits');
      await budget.share();
      expect(budget.peek('acme')).toMatchObject({ remainingPoints: 90, isOverspent: false });
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('work', () => {
  it.each(TRANSPORTS)(
    'over %s that does not fit waits its turn, and beyond that is OVERLOADED',
    async (over) => {
      let release: () => void = () => undefined;
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      const builder = createBuilder<object>();
      let running = 0;
      const slow = async () => {
        running += 1;
        await gate;
        return 'done';
      };
      builder.queryType({
        fields: (t) => ({
          hello: t.string({ authScopes: { public: true }, resolve: () => 'world' }),
          slow: t.string({ authScopes: { public: true }, resolve: slow }),
        }),
      });
      builder.mutationType({
        fields: (t) => ({
          slow: t.string({
            authScopes: { public: true },
            recordedInput: {},
            safeWithoutKey: 'it does nothing',
            resolve: slow,
          }),
        }),
      });
      const { api } = await serve(
        { MAX_QUERIES_IN_FLIGHT: 2, MAX_MUTATIONS_IN_FLIGHT: 1 },
        { schema: builder.toSchema() },
      );
      // Two run and two wait, in any order of arrival.
      const refusals: Awaited<ReturnType<typeof askOver>>[] = [];
      const asked = Array.from({ length: 6 }, async () => {
        const reply = await askOver(over, api, { query: '{ slow }' });
        if (reply.errors.length > 0) refusals.push(reply);
        return reply;
      });
      await until(() => running === 2 && refusals.length === 2);
      for (const { errors, status } of refusals) {
        expect(errors[0]?.extensions).toEqual({ code: 'OVERLOADED', retryAfterSeconds: 1 });
        if (over !== 'websocket') expect(status).toBe(503);
      }
      // Mutations have separate places.
      const mutation = askOver(over, api, { query: 'mutation { slow }' });
      await until(() => running === 3);
      release();
      const replies = await Promise.all([...asked, mutation]);
      const done = replies.filter(({ errors }) => errors.length === 0);
      expect(done.map(({ data }) => data)).toEqual(Array.from({ length: 5 }, () => ({ slow: 'done' })));
      expect((await askOver(over, api, HELLO)).data).toEqual({ hello: 'world' });
    },
  );

  it('of documents that are new begins one by one for each address', async () => {
    const begun: number[] = [];
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const builder = createBuilder<object>();
    builder.queryType({
      fields: (t) => ({
        hello: t.string({ authScopes: { public: true }, resolve: () => 'world' }),
        slow: t.string({
          authScopes: { public: true },
          resolve: async () => {
            begun.push(performance.now());
            await gate;
            return 'done';
          },
        }),
      }),
    });
    const { api } = await serve({}, { schema: builder.toSchema() });
    expect((await askOver('http', api, HELLO)).errors).toEqual([]);
    const asked = ['a', 'b', 'c'].map((name) => askOver('http', api, { query: `{ ${name}: slow }` }));
    // A known document, and a new one at another address, wait for none of them.
    expect((await askOver('http', api, HELLO)).errors).toEqual([]);
    expect(await statusFrom('127.0.0.2', api)).toBe(200);
    // An operation that waits for something else delays the next one only for a moment.
    await until(() => begun.length === 3);
    const [first = 0, second = 0, third = 0] = begun;
    expect(Math.min(second - first, third - second)).toBeGreaterThan(200);
    release();
    for (const { errors } of await Promise.all(asked)) expect(errors).toEqual([]);
  });
});
