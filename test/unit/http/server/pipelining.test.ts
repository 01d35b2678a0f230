/**
 * What is kept of connections: nothing, once they are closed.
 */
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { expect, it } from 'vitest';
import { limitPipelining } from '../../../../src/http/server/pipelining.ts';
import { collectGarbage } from '../../../support/heap.ts';

it('forgets a connection that is closed', async () => {
  const server = new EventEmitter();
  const { list } = limitPipelining(server as Server, { TRUSTED_PROXY_HOPS: 0 });
  const closed = (() => {
    const socket = new EventEmitter();
    server.emit('connection', socket);
    socket.emit('close');
    return new WeakRef(socket);
  })();
  await new Promise(setImmediate);
  collectGarbage();
  expect([closed.deref(), list()]).toEqual([undefined, []]);
});
