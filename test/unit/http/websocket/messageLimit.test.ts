/**
 * The cost of messages to the budgets of their socket and their address.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { createMessageLimit } from '../../../../src/http/websocket/messageLimit.ts';

const KB = 1024;
const SOCKET_CAPACITY = 1_000;
const ADDRESS_CAPACITY = 10_000;

/** Sockets of one address, with a clock that stands still. */
function createSockets() {
  const limitMessages = createMessageLimit(
    { RATE_LIMIT_ADDRESS_PER_MINUTE: 30_000, MAX_SOCKETS_PER_ADDRESS: 200 },
    () => 0,
  );
  return () => {
    const closed: { code: number; reason: string }[] = [];
    const socket = Object.assign(new EventEmitter(), {
      OPEN: 1,
      readyState: 1,
      close(code: number, reason: string) {
        closed.push({ code, reason });
        socket.readyState = 2;
      },
    });
    const connection = Object.assign(new EventEmitter(), { end() {}, resume() {}, destroy() {} });
    const admit = limitMessages(
      socket as unknown as WebSocket,
      connection as unknown as Socket,
      '203.0.113.7',
    );
    return { admit, closed };
  };
}

/** @returns how many messages were admitted before the first refused one */
function sendMany(admit: (bytes: number) => boolean, bytes: number): number {
  let admitted = 0;
  while (admitted < ADDRESS_CAPACITY && admit(bytes)) admitted += 1;
  return admitted;
}

it.each([
  ['a small message', 4 * KB - 1, 1],
  ['one of 4 kB', 4 * KB, 2],
  ['the longest one', 64 * KB, 17],
])('%s takes its length in pieces of 4 kB, and one', (_what, bytes, points) => {
  const { admit, closed } = createSockets()();
  expect(sendMany(admit, bytes)).toBe(Math.floor(SOCKET_CAPACITY / points));
  expect(closed).toEqual([{ code: 4429, reason: expect.stringContaining('socket') }]);
});

it('long messages on many sockets take the budget of their address', () => {
  const openSocket = createSockets();
  let admitted = 0;
  let closed: { code: number; reason: string }[] = [];
  for (let i = 0; i < 200 && closed.length === 0; i++) {
    const socket = openSocket();
    for (let k = 0; k < 50 && socket.admit(64 * KB); k++) admitted += 1;
    closed = socket.closed;
  }
  expect(admitted).toBe(Math.floor(ADDRESS_CAPACITY / 17));
  expect(closed).toEqual([{ code: 4429, reason: expect.stringContaining('address') }]);
});
