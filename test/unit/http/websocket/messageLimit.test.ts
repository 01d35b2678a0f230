/**
 * The cost of messages to the budgets of their socket and their address.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { createMessageLimit } from '../../../../src/http/websocket/messageLimit.ts';

const KB = 1024;
const SOCKET_CAPACITY = 1_000;
const ADDRESS_CAPACITY = 10_000;

/** Sockets of one address, with a clock that stands still. */
function createSockets(limits: Partial<Parameters<typeof createMessageLimit>[0]> = {}) {
  const limitMessages = createMessageLimit(
    { RATE_LIMIT_ADDRESS_PER_MINUTE: 30_000, MAX_SOCKETS_PER_ADDRESS: 200, ...limits },
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
    const connection = Object.assign(new EventEmitter(), {
      end: vi.fn<() => void>(),
      resume: vi.fn<() => void>(),
      destroy: vi.fn<() => void>(),
    });
    const admit = limitMessages(
      socket as unknown as WebSocket,
      connection as unknown as Socket,
      '203.0.113.7',
    );
    return { admit, closed, socket, connection };
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

it.each(['ping', 'pong'] as const)('a socket is closed after a hundred of %s', (frame) => {
  const { admit, closed, socket } = createSockets()();
  for (let i = 0; i < 100; i++) socket.emit(frame);
  expect(closed).toEqual([]);
  expect(admit(1)).toBe(true);
  socket.emit(frame);
  expect(closed).toEqual([{ code: 4429, reason: 'Too many messages from this socket; send fewer.' }]);
  // Messages that arrive on a closing socket are not handled, and take nothing.
  expect(admit(1)).toBe(false);
  expect(closed).toHaveLength(1);
});

it('all sockets of an address may be opened again at once, however few requests it may send', () => {
  const openSocket = createSockets({ RATE_LIMIT_ADDRESS_PER_MINUTE: 60, MAX_SOCKETS_PER_ADDRESS: 10 });
  for (let i = 0; i < 10; i++) {
    const { admit } = openSocket();
    expect([admit(1), admit(1), admit(1), admit(1)]).toEqual([true, true, true, true]);
  }
  expect(openSocket().admit(1)).toBe(false);
});

it('a socket that is closed is read without its messages, so that its client reads why, but not for long', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const openSocket = createSockets();
  const refused = () => {
    const { socket, connection } = openSocket();
    const read = vi.fn<() => void>();
    connection.on('data', read);
    for (let i = 0; i < 101; i++) socket.emit('ping');
    expect(connection.end).toHaveBeenCalledOnce();
    expect(connection.resume).toHaveBeenCalledOnce();
    return { connection, read };
  };
  const MB = Buffer.alloc(KB * KB);
  const flooding = refused();
  for (let i = 0; i < 32; i++) flooding.connection.emit('data', MB);
  // Not the calls themselves: printing their megabytes would take minutes.
  expect(flooding.read.mock.calls.length).toBe(0);
  expect(flooding.connection.destroy).not.toHaveBeenCalled();
  flooding.connection.emit('data', MB);
  expect(flooding.connection.destroy).toHaveBeenCalledOnce();
  const silent = refused();
  vi.advanceTimersByTime(9_999);
  expect(silent.connection.destroy).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(silent.connection.destroy).toHaveBeenCalledOnce();
});
