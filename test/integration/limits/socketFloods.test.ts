/**
 * A websocket that sends endlessly: it is closed with a reason, takes turns with its neighbours until then,
 * and clients at other addresses are not affected.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { silentLog } from '../../../devnet/platform.ts';
import { createRateLimits } from '../../../src/limits/rateLimits.ts';
import { askOver } from '../../support/http/askOver.ts';
import { HELLO, serveWith as serve, serveWithoutRefill, statusFrom } from '../../support/http/flooded.ts';
import { testLimits } from '../../support/http/httpServer.ts';

interface Opened {
  socket: WebSocket;
  /** Ids of the operations that were answered, in order. */
  answered: string[];
  closed: Promise<{ code: number; reason: string }>;
}

async function openSocket(url: string, localAddress = '127.0.0.1'): Promise<Opened> {
  const socket = new WebSocket(url, 'graphql-transport-ws', { localAddress });
  const answered: string[] = [];
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.on('error', reject);
  });
  const acknowledged = new Promise((resolve) => socket.once('message', resolve));
  socket.send('{"type":"connection_init"}');
  await acknowledged;
  socket.on('message', (data: Buffer) => {
    const { id, type } = JSON.parse(data.toString()) as { id?: string; type: string };
    if (type === 'next' && id !== undefined) answered.push(id);
  });
  return { socket, answered, closed };
}

const subscribe = (id: string, query = '{ hello }') =>
  JSON.stringify({ id, type: 'subscribe', payload: { query } });

const PING = '{"type":"ping"}';

/** More than a socket's budget. */
const TOO_MANY = 1_500;

it.each<[string, (socket: WebSocket, i: number) => void]>([
  ['pings', (socket) => socket.ping()],
  ['pongs', (socket) => socket.pong()],
  ["the protocol's own pings", (socket) => socket.send(PING)],
  // Mostly pings, which are no excess alone: a thousand operations take a slow machine a minute.
  ['subscribe messages', (socket, i) => socket.send(i < 950 ? PING : subscribe(String(i)))],
])('that sends too many %s is closed 4429 with the reason, others are served', async (_what, send) => {
  // Otherwise the budget returns while a slow machine reads the messages, and the socket stays open.
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { wsUrl, api } = await serve({});
  const other = await openSocket(wsUrl);
  const flooding = await openSocket(wsUrl);
  for (let i = 0; i < TOO_MANY; i++) send(flooding.socket, i);
  other.socket.send(subscribe('other'));
  const { code, reason } = await flooding.closed;
  expect([code, reason]).toEqual([4429, expect.stringContaining('messages')]);
  await expect.poll(() => other.answered).toEqual(['other']);
  expect((await askOver('http', api, HELLO)).data).toEqual({ hello: 'world' });
  other.socket.close();
});

/** An unfinished message: reading its pieces costs time, and no piece counts as a message. */
it('that sends a message in more pieces than clients make of it is closed 1008', async () => {
  const { wsUrl } = await serve({});
  const { socket, closed, answered } = await openSocket(wsUrl);
  const inPieces = (text: string, count: number, last: boolean) => {
    const size = Math.ceil(text.length / count);
    for (let i = 0; i < count; i++) {
      socket.send(text.slice(i * size, (i + 1) * size), { fin: last && i === count - 1 });
    }
  };
  inPieces(subscribe('in pieces'), 64, true);
  await expect.poll(() => answered).toEqual(['in pieces']);
  inPieces(' '.repeat(65), 65, false);
  expect(await closed).toMatchObject({ code: 1008 });
  socket.terminate();
});

it('takes turns with others on the same address, one message each', async () => {
  const { wsUrl } = await serve({});
  const busy = await openSocket(wsUrl);
  const other = await openSocket(wsUrl);
  const turns: string[] = [];
  busy.socket.on('message', () => turns.push('busy'));
  other.socket.on('message', () => turns.push('other'));
  // Both are sent before the server, in this same process, can read.
  for (let i = 0; i < 80; i++) busy.socket.send(subscribe(String(i)));
  other.socket.send(subscribe('only'));
  await expect.poll(() => other.answered.length + busy.answered.length).toBe(81);
  // Two messages for each operation.
  expect(turns.indexOf('other')).toBeLessThan(turns.length / 2);
  busy.socket.close();
  other.socket.close();
});

it('of an address with many takes turns with those of other addresses', async () => {
  // As they are admitted: later on, the places of each address give others a turn, too.
  const admitted: string[] = [];
  const admitAddress = async (address: string) => void admitted.push(address);
  const rateLimits = { ...createRateLimits(testLimits(), null, silentLog), admitAddress };
  const { wsUrl } = await serve({}, { rateLimits });
  const busy = await Promise.all(Array.from({ length: 100 }, () => openSocket(wsUrl)));
  const other = await openSocket(wsUrl, '127.0.0.2');
  admitted.length = 0;
  for (const { socket } of busy) socket.send(subscribe('same'));
  other.socket.send(subscribe('only'));
  await expect.poll(() => admitted.length).toBe(101);
  expect(admitted.indexOf('127.0.0.2')).toBeLessThan(50);
  for (const { socket } of [...busy, other]) socket.terminate();
});

it('can share its flood with other sockets of its address no further than the address may', async () => {
  const { wsUrl, api } = await serve({ RATE_LIMIT_ADDRESS_PER_MINUTE: 1_200, MAX_SOCKETS_PER_ADDRESS: 10 });
  const sockets = await Promise.all([1, 2, 3, 4].map(() => openSocket(wsUrl)));
  const others = await openSocket(wsUrl, '127.0.0.2');
  for (const { socket } of sockets) {
    for (let i = 0; i < 200; i++) socket.send(PING);
  }
  const { code, reason } = await Promise.race(sockets.map(({ closed }) => closed));
  expect([code, reason]).toEqual([4429, expect.stringContaining('address')]);
  others.socket.send(subscribe('other'));
  await expect.poll(() => others.answered).toEqual(['other']);
  expect(await statusFrom('127.0.0.2', api)).toBe(200);
  for (const { socket } of [...sockets, others]) socket.terminate();
});

it('is refused when its documents cost more computing time than an address may use', async () => {
  const { api } = await serveWithoutRefill();
  const expensive = (i: number) =>
    `query q${i} { ${Array.from({ length: 45 }, (_, k) => `a${i}_${k}: hello`).join(' ')} }`;
  let codes: unknown[] = [];
  for (let i = 0; codes.length === 0 && i < 100; i++) {
    const { errors } = await askOver('http', api, { query: expensive(i) });
    codes = errors.map(({ extensions }) => [extensions.code, extensions['policy']]);
  }
  expect(codes).toEqual([['RATE_LIMITED', 'cpu']]);
  expect(await statusFrom('127.0.0.2', api)).toBe(200);
});
