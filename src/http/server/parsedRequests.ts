/**
 * Shows each request as soon as Node has read its headers, before Node decides how to handle the request.
 * Node has no documented API for this; if the undocumented one is missing, requests go on unseen.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Node's parser stops at any return value that it does not know, within a packet too; Node then answers 400
 * and closes.
 */
export const STOP = -1;

type OnIncoming = (request: IncomingMessage, ...more: unknown[]) => unknown;

export function seeRequests(
  socket: Socket,
  see: (request: IncomingMessage) => typeof STOP | undefined,
): void {
  const parser: unknown = Reflect.get(socket, 'parser');
  if (typeof parser !== 'object' || parser === null) return;
  const onIncoming: unknown = Reflect.get(parser, 'onIncoming');
  if (typeof onIncoming !== 'function') return;
  const receive = onIncoming as OnIncoming;
  const receiveSeen: OnIncoming = (request, ...more) => see(request) ?? receive(request, ...more);
  Reflect.set(parser, 'onIncoming', receiveSeen);
}
