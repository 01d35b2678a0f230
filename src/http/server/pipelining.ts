/**
 * Requests that a client sends without waiting for the answers before them. No browser and no proxy does, but a stranger can put
 * thousands of requests into one packet, which Node reads to its end before anything else gets a turn: twenty connections
 * held up everyone for seconds.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey } from '../../limits/addressKey.ts';
import type { Limits } from '../../limits/limits.ts';
import { createTokenBuckets } from '../../limits/tokenBuckets.ts';

/** More than the few that clients send ahead; what is beyond them in a packet is not read. */
const MAX_UNANSWERED = 16;
/**
 * Connections of an address that may go beyond it, since the requests before the limit are answered each time. Further
 * connections of the address are closed then.
 */
const EXCESSES = { capacity: 20, perSecond: 1 };
/** Node's parser stops at any answer that it does not know. */
const STOP = -1;

type OnIncoming = (...args: unknown[]) => unknown;

/** @param limits its connections are an address's own only where no proxy is in front */
export function limitPipelining(server: Server, limits: Pick<Limits, 'trustedProxyHops'>): void {
  const unanswered = new WeakMap<Socket, Set<ServerResponse>>();
  const excesses = createTokenBuckets(EXCESSES, () => performance.now());
  server.on('connection', (socket) => {
    const address = addressKey(socket.remoteAddress ?? 'unknown');
    if (limits.trustedProxyHops === 0 && excesses.waitSeconds(address) > 0) {
      socket.destroy();
      return;
    }
    const responses = new Set<ServerResponse>();
    unanswered.set(socket, responses);
    refuseWhen(socket, () => {
      const isFull = responses.size >= MAX_UNANSWERED;
      // Node asks once: it reads nothing more of this socket then.
      if (isFull) excesses.take(address, 1);
      return isFull;
    });
    socket.once('close', () => {
      for (const response of responses) if (response.socket === null) abandon(response);
    });
  });
  server.on('request', ({ socket }, response) => {
    const responses = unanswered.get(socket);
    responses?.add(response);
    response.once('close', () => responses?.delete(response));
  });
}

/**
 * Node says that it is closed only of the response that is being sent, not of those that wait behind it: what they are counted
 * as would be held for good, and an address, then everyone, be refused.
 */
function abandon(response: ServerResponse): void {
  response.destroy();
  response.emit('close');
}

/**
 * Node then answers 400 and closes, as for a request that it can't read. It has no documented way to stop within a packet;
 * where this one is missing, only the limit is lost.
 */
function refuseWhen(socket: Socket, isFull: () => boolean): void {
  const parser: unknown = Reflect.get(socket, 'parser');
  if (typeof parser !== 'object' || parser === null) return;
  const onIncoming: unknown = Reflect.get(parser, 'onIncoming');
  if (typeof onIncoming !== 'function') return;
  const receive = onIncoming as OnIncoming;
  Reflect.set(parser, 'onIncoming', (...args: unknown[]) => (isFull() ? STOP : receive(...args)));
}
