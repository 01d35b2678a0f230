/**
 * Offers to go on in another protocol than HTTP/1.1. `curl --http2` and Java's client offer HTTP/2 with each request over plain HTTP; a
 * server may ignore that (RFC 9110, 7.8). Since websockets are accepted, Node takes every such request out of HTTP:
 * without this, probes are refused, and deliveries lost before their hook reads them.
 */
import type { IncomingMessage, Server } from 'node:http';
import { seeRequests } from './parsedRequests.ts';

/**
 * Node goes on with a request whose `upgrade` is false, as a server without websockets does with all of them. Like such a server, it
 * drops what the client sends in the same packet behind the request; a client that offers an upgrade waits for the answer.
 */
export function ignoreOtherUpgrades(server: Server): void {
  server.on('connection', (socket) => {
    seeRequests(socket, (request) => {
      if (isOtherUpgrade(request)) Reflect.set(request, 'upgrade', false);
      return undefined;
    });
  });
}

/** So is a list with `websocket` in it, which `ws` refuses. */
function isOtherUpgrade(request: IncomingMessage): boolean {
  if (Reflect.get(request, 'upgrade') !== true || request.method === 'CONNECT') return false;
  return request.headers.upgrade?.toLowerCase() !== 'websocket';
}
