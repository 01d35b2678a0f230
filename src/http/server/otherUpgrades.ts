/**
 * Ignores offers to upgrade to another protocol than websocket. `curl --http2` and Java's client offer HTTP/2
 * with each request over plain HTTP; a server may ignore the offer (RFC 9110, 7.8). Since websockets are
 * accepted, Node takes every such request out of HTTP: without this file, probes are refused, and deliveries
 * are lost before their hook reads them.
 */
import type { IncomingMessage, Server } from 'node:http';
import { seeRequests } from './parsedRequests.ts';

/**
 * Sets `upgrade` to false, so that Node handles the request as a server without websockets does. Node then
 * drops bytes behind the request in the same packet, but a client that offers an upgrade waits for the
 * answer.
 */
export function ignoreOtherUpgrades(server: Server): void {
  server.on('connection', (socket) => {
    seeRequests(socket, (request) => {
      if (isOtherUpgrade(request)) Reflect.set(request, 'upgrade', false);
      return undefined;
    });
  });
}

/** A list that includes `websocket` counts as well, because `ws` refuses it. */
function isOtherUpgrade(request: IncomingMessage): boolean {
  if (Reflect.get(request, 'upgrade') !== true || request.method === 'CONNECT') return false;
  return request.headers.upgrade?.toLowerCase() !== 'websocket';
}
