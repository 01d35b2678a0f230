/**
 * Limits on open connections, in total and per address. Excess connections are closed without an answer,
 * because an answer would cost what the limit saves.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey } from '../../lib/addressKey.ts';
import { createCounters } from '../../limits/counters.ts';
import type { Limits } from '../../limits/limits.ts';

export function limitConnections(server: Server, limits: Limits): void {
  // Behind a proxy every connection is the proxy's, which must limit its clients' connections itself.
  const maxPerAddress = limits.TRUSTED_PROXY_HOPS === 0 ? limits.MAX_CONNECTIONS_PER_ADDRESS : Infinity;
  const connections = createCounters(limits.MAX_CONNECTIONS, maxPerAddress);
  server.on('connection', (socket: Socket) => {
    const close = connections.open(addressKey(socket.remoteAddress ?? 'unknown'));
    if (close === null) socket.destroy();
    else socket.once('close', close);
  });
}
