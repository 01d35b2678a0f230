/**
 * Reports to a sender of events from a real socket whose client reads, does not read, and has left.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createSender, type SendEvent } from '../../../src/http/server/socketIo.ts';

/** Each event is more than a socket's buffers take. */
const TAIL = 'x'.repeat(64 * 1024);
const MOST = 1_000;

let server: WebSocketServer;
let client: WebSocket;
let connection: Socket;
let sendEvent: SendEvent;

beforeEach(async () => {
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const connected = new Promise<void>((resolve) => {
    server.once('connection', (socket, request) => {
      connection = request.socket;
      ({ sendEvent } = createSender(socket, connection, () => undefined));
      resolve();
    });
  });
  client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await Promise.all([connected, once(client, 'open')]);
});

afterEach(() => {
  client.terminate();
  server.close();
});

/**
 * Sends until the process has to buffer bytes.
 * @returns how many events were sent at once, and how often the sender was told
 */
function fill() {
  const told = { count: 0 };
  const sender = { onSent: () => (told.count += 1) };
  let atOnce = 0;
  while (atOnce < MOST && sendEvent('', TAIL.slice(0, 8_000), sender)) atOnce += 1;
  return { atOnce, told };
}

it('says at once that bytes have left, and later of those that a client does not read yet', async () => {
  client.pause();
  const received: number[] = [];
  client.on('message', (data: Buffer) => received.push(data.length));
  const { atOnce, told } = fill();
  expect(atOnce).toBeGreaterThan(0);
  expect(atOnce).toBeLessThan(MOST);
  await delay(50);
  expect(told.count).toBe(0);
  client.resume();
  await expect.poll(() => received.length).toBe(atOnce + 1);
  expect(told.count).toBe(1);
  expect(new Set(received)).toEqual(new Set([8_000]));
});

it('says it once of an event that is larger than what is written at a time', async () => {
  let told = 0;
  const isSent = sendEvent('', TAIL.repeat(4), { onSent: () => (told += 1) });
  const message = new Promise<Buffer>((resolve) => client.once('message', resolve));
  expect((await message).length).toBe(TAIL.length * 4);
  await expect.poll(() => told).toBe(isSent ? 0 : 1);
});

it('says nothing before the socket is closed, once its connection has gone', async () => {
  const closed = new Promise<void>((resolve) => {
    for (const socket of server.clients) socket.once('close', () => resolve());
  });
  connection.destroy();
  const { atOnce, told } = fill();
  expect([atOnce, told.count]).toEqual([0, 0]);
  await closed;
  await expect.poll(() => told.count).toBe(1);
  expect(sendEvent('', TAIL, { onSent: () => (told.count += 1) })).toBe(false);
  await expect.poll(() => told.count).toBe(2);
});
