/**
 * The pings of a websocket, which clients count as gone, and from which ones nothing more is read.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { keepAlive, limitUnread } from '../../../../src/http/server/socketIo.ts';

const PING_MS = 12_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

function open() {
  const socket = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    ping: vi.fn<() => void>(),
    terminate: vi.fn<() => void>(),
  });
  const stop = keepAlive(socket as unknown as WebSocket);
  /** The pings and the ends after so many intervals more. */
  const after = (intervals: number) => {
    vi.advanceTimersByTime(intervals * PING_MS);
    return [socket.ping.mock.calls.length, socket.terminate.mock.calls.length];
  };
  return { socket, stop, after };
}

it('ends the socket of a client that does not answer a ping', () => {
  const { after } = open();
  expect(after(1)).toEqual([1, 0]);
  expect(after(1)).toEqual([1, 1]);
});

it('keeps the socket of a client that answers each ping', () => {
  const { socket, after } = open();
  for (let pings = 1; pings <= 3; pings += 1) {
    expect(after(1)).toEqual([pings, 0]);
    socket.emit('pong');
  }
});

it('leaves a client that has output to read to the check for stalled sockets', () => {
  const { socket, after } = open();
  expect(after(1)).toEqual([1, 0]);
  socket.bufferedAmount = 1;
  expect(after(3)).toEqual([1, 0]);
});

it('sends nothing on a socket that closes, nor once it is stopped', () => {
  const { socket, stop, after } = open();
  socket.readyState = 2;
  expect(after(3)).toEqual([0, 0]);
  stop();
  expect(vi.getTimerCount()).toBe(0);
});

it.each(['message', 'ping'])(
  'reads nothing after a %s of a client with over 1 MB to read, until it reads',
  (event) => {
    const connection = new EventEmitter();
    const [pause, resume] = [vi.fn<() => void>(), vi.fn<() => void>()];
    const socket = Object.assign(new EventEmitter(), { bufferedAmount: 1024 * 1024, pause, resume });
    limitUnread(socket as unknown as WebSocket, connection as Socket);
    socket.emit(event);
    expect(pause).not.toHaveBeenCalled();
    socket.bufferedAmount += 1;
    socket.emit(event);
    expect(pause).toHaveBeenCalledOnce();
    expect(resume).not.toHaveBeenCalled();
    connection.emit('drain');
    expect(resume).toHaveBeenCalledOnce();
  },
);
