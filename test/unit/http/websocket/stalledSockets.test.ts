/**
 * Which connections count as stalled, and that closed ones are forgotten.
 */
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { endStalledSockets } from '../../../../src/http/websocket/stalledSockets.ts';
import { collectGarbage } from '../../../support/heap.ts';

const STALL_MS = 400;
const SWEEP_MS = STALL_MS / 4;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

function watch() {
  const server = new EventEmitter();
  endStalledSockets(server as Server, STALL_MS);
  /** A connection with bytes that wait for its client. */
  const connect = () => {
    const handle = { writeQueueSize: 0 };
    const socket = Object.assign(new EventEmitter(), {
      handle,
      _handle: handle,
      bytesWritten: 50,
      writableLength: 50,
      destroy: vi.fn<() => void>(),
    });
    server.emit('connection', socket);
    return socket;
  };
  return { connect, server };
}

it('ends a connection whose client has read nothing for the stall time', () => {
  const { connect } = watch();
  const { destroy } = connect();
  vi.advanceTimersByTime(STALL_MS - SWEEP_MS);
  expect(destroy).not.toHaveBeenCalled();
  vi.advanceTimersByTime(SWEEP_MS);
  expect(destroy).toHaveBeenCalled();
});

it.each<[string, (socket: ReturnType<ReturnType<typeof watch>['connect']>) => void]>([
  ['reads a write', (socket) => (socket.bytesWritten += 1)],
  ['reads a part of a write', (socket) => (socket.handle.writeQueueSize += 1)],
  ['has read all that was sent', (socket) => (socket.bytesWritten = socket.writableLength = 0)],
])('keeps a connection whose client %s within the stall time', (_what, move) => {
  const { connect } = watch();
  const socket = connect();
  for (let times = 0; times < 3; times += 1) {
    vi.advanceTimersByTime(STALL_MS - SWEEP_MS);
    move(socket);
    vi.advanceTimersByTime(SWEEP_MS);
    expect(socket.destroy).not.toHaveBeenCalled();
  }
});

it('ends a connection whose client has read for a while, and then nothing', () => {
  const { connect } = watch();
  const socket = connect();
  socket.bytesWritten = 80;
  socket.handle.writeQueueSize = 7;
  vi.advanceTimersByTime(SWEEP_MS + STALL_MS);
  expect(socket.destroy).toHaveBeenCalled();
});

it('forgets connections that are closed', async () => {
  const { connect } = watch();
  const closed = (() => {
    const socket = connect();
    socket.emit('close');
    return new WeakRef(socket);
  })();
  await new Promise(setImmediate);
  collectGarbage();
  expect(closed.deref()).toBeUndefined();
});

it('watches a server until that is closed', () => {
  const { server } = watch();
  server.emit('close');
  expect(vi.getTimerCount()).toBe(0);
});
