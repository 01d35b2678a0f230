/**
 * Answers that are too large, and large answers that are never read: neither takes memory that others need.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createBuilder } from '../../../src/schema/core/createBuilder.ts';
import { createRateLimits } from '../../../src/limits/rateLimits.ts';
import { testLimits } from '../../support/http/httpServer.ts';
import { askOver, codesOf, TRANSPORTS } from '../../support/http/askOver.ts';
import { HELLO, serveWith as serve } from '../../support/http/flooded.ts';

const MEGABYTE = 1024 * 1024;

/** A schema with a small estimate: the types do not show the length of the text. */
function schemaOfLongText() {
  const builder = createBuilder<object>();
  builder.queryType({
    fields: (t) => ({
      hello: t.string({ authScopes: { public: true }, resolve: () => 'world' }),
      long: t.string({
        args: { megabytes: t.arg.int(), kilobytes: t.arg.int(), lateMs: t.arg.int() },
        authScopes: { public: true },
        resolve: async (_root, { megabytes, kilobytes, lateMs }) => {
          if (lateMs) await delay(lateMs);
          return 'x'.repeat((megabytes ?? 0) * MEGABYTE + (kilobytes ?? 0) * 1024);
        },
      }),
    }),
  });
  return builder.toSchema();
}

const start = (cpuPercentPerAddress = 1_000_000) =>
  serve({ MAX_CPU_PERCENT_PER_ADDRESS: cpuPercentPerAddress }, { schema: schemaOfLongText() });

it.each(TRANSPORTS)('over %s an answer over the limit is OPERATION_TOO_LARGE', async (over) => {
  const { api } = await start();
  const { data, errors } = await askOver(over, api, { query: '{ long(megabytes: 25) }' });
  expect([data, errors.map(({ extensions }) => extensions.code)]).toEqual([null, ['OPERATION_TOO_LARGE']]);
  const modest = await askOver(over, api, { query: '{ long(megabytes: 2) }' });
  expect(modest.data?.['long']).toHaveLength(2 * MEGABYTE);
});

it('an answer over the limit costs its address computing time all the same', async () => {
  const { api } = await start(20);
  const query = '{ long(megabytes: 25) }';
  expect(codesOf(await askOver('http', api, { query }))).toEqual(['OPERATION_TOO_LARGE']);
  expect(codesOf(await askOver('http', api, HELLO))).toEqual(['RATE_LIMITED']);
});

it.each(TRANSPORTS)('over %s a small answer costs its address computing time by its bytes', async (over) => {
  const chargedMs: number[] = [];
  const cpuThrottle = {
    charge: (_address: string, ms: number) => void chargedMs.push(ms),
    awaitTurn: () => null,
  };
  const rateLimits = createRateLimits(testLimits(), null, { warn: () => undefined }, { cpuThrottle });
  const { api } = await serve({}, { rateLimits, schema: schemaOfLongText() });
  const query = '{ long(kilobytes: 7) }';
  await askOver(over, api, { query });
  // Discards the charge for the new document.
  chargedMs.length = 0;
  await askOver(over, api, { query });
  expect(chargedMs).toContainEqual(expect.closeTo(7 / 20, 2));
});

it('large answers that are not read hold their bytes until they are, and no other address waits', async () => {
  const { api } = await start();
  const query = '{ long(megabytes: 20) }';
  const held: IncomingMessage[] = [];
  for (let i = 0; i < 3; i++) held.push(await unread(api, query));
  expect(codesOf(await askOver('http', api, { query }))).toEqual(['OVERLOADED']);
  expect(codesOf(await askOver('websocket', api, { query }))).toEqual(['OVERLOADED']);
  expect((await askOver('http', api, HELLO)).data).toEqual({ hello: 'world' });
  const other = await unread(api, query, '127.0.0.2');
  expect(other.statusCode).toBe(200);
  for (const response of [...held, other]) response.destroy();
  await expect
    .poll(async () => codesOf(await askOver('http', api, { query: '{ long(megabytes: 10) }' })))
    .toEqual([]);
});

it('answers of 200 kB count while they wait behind one that is not read', async () => {
  const { api } = await start();
  const query = '{ long(kilobytes: 200) }';
  const isFull = async () => codesOf(await askOver('http', api, { query })).includes('OVERLOADED');
  const held = [await unread(api, '{ long(megabytes: 20) }'), await unread(api, '{ long(megabytes: 20) }')];
  // All together these are 65 MB; an address may hold 64 MB.
  const waiting = pipelined(api, ['{ long(megabytes: 22) }', ...Array<string>(15).fill(query)]);
  await expect.poll(isFull).toBe(true);
  expect((await askOver('http', api, HELLO)).data).toEqual({ hello: 'world' });
  for (const stream of [...held, waiting]) stream.destroy();
  await expect.poll(isFull).toBe(false);
});

it('answers that are made when their clients have gone hold nothing', async () => {
  const { api } = await start();
  for (let i = 0; i < 3; i++) {
    const request = httpRequest(api, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    request.on('error', () => undefined);
    request.end(JSON.stringify({ query: '{ long(megabytes: 20, lateMs: 400) }' }));
    await delay(50);
    request.destroy();
  }
  await delay(600);
  // A slow machine makes the answers later; what they held without end would never be free again.
  await expect
    .poll(async () => codesOf(await askOver('http', api, { query: '{ long(megabytes: 20) }' })))
    .toEqual([]);
});

it.each(['http', 'websocket'] as const)('over %s an answer that was read holds nothing', async (over) => {
  const { api } = await start();
  // An address may hold three of them.
  for (let i = 0; i < 4; i++) {
    expect(codesOf(await askOver(over, api, { query: '{ long(megabytes: 20) }' }))).toEqual([]);
  }
});

function unread(url: string, query: string, localAddress = '127.0.0.1'): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}?query=${encodeURIComponent(query)}`, { localAddress });
    request.on('response', (response) => resolve(response.pause()));
    request.on('error', reject);
    request.end();
  });
}

/** Sends queries in one packet, and does not read their answers. */
function pipelined(url: string, queries: readonly string[]): Socket {
  const { host, hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname).pause();
  const requestOf = (query: string) =>
    `GET ${pathname}?query=${encodeURIComponent(query)} HTTP/1.1\r\nhost: ${host}\r\n\r\n`;
  socket.write(queries.map(requestOf).join(''));
  return socket;
}
