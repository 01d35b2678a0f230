/**
 * Requests that a client sends without waiting for the answers before them. No browser and no proxy does, but a stranger can put
 * thousands of requests into one packet, which Node reads to its end before anything else gets a turn: twenty connections
 * held up everyone for seconds.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey } from '../../lib/addressKey.ts';
import type { Limits } from '../../limits/limits.ts';
import { createTokenBuckets } from '../../limits/tokenBuckets.ts';
import { seeRequests, STOP } from './parsedRequests.ts';

/** More than the few that clients send ahead; what is beyond them in a packet is not read. */
const MAX_UNANSWERED = 16;
/**
 * Connections of an address that may go beyond it, since the requests before the limit are answered each time. Further
 * connections of the address are closed then.
 */
const EXCESSES = { capacity: 20, perSecond: 1 };

interface AwaitedAnswers {
  /** Those of now. */
  list(): ServerResponse[];
  /** From now on, the last answer on each connection says that it is the last: what its client sent after it would be lost. */
  endConnections(): void;
}

/** @param limits its connections are an address's own only where no proxy is in front */
export function limitPipelining(server: Server, limits: Pick<Limits, 'trustedProxyHops'>): AwaitedAnswers {
  // Arrays, since a Set for each connection would keep each request's memory for long (fairQueue.ts).
  const unanswered = new Map<Socket, ServerResponse[]>();
  let isEnding = false;
  const excesses = createTokenBuckets(EXCESSES, () => performance.now());
  server.on('connection', (socket) => {
    const address = addressKey(socket.remoteAddress ?? 'unknown');
    if (limits.trustedProxyHops === 0 && excesses.waitSeconds(address) > 0) {
      socket.destroy();
      return;
    }
    const responses: ServerResponse[] = [];
    unanswered.set(socket, responses);
    // Where requests can't be seen, only the limit is lost.
    seeRequests(socket, () => {
      if (responses.length < MAX_UNANSWERED) return undefined;
      // Node asks once: it reads nothing more of this socket then.
      excesses.take(address, 1);
      return STOP;
    });
    socket.once('close', () => {
      unanswered.delete(socket);
      for (const response of responses.filter(({ socket: sending }) => sending === null)) abandon(response);
    });
  });
  server.on('request', ({ socket }, response) => {
    const responses = unanswered.get(socket);
    if (responses === undefined) return;
    if (isEnding) {
      keepAliveAfter(responses.at(-1), true);
      keepAliveAfter(response, false);
    }
    responses.push(response);
    response.once('close', () => responses.splice(responses.indexOf(response), 1));
  });
  return {
    list: () => [...unanswered.values()].flat(),
    endConnections() {
      isEnding = true;
      for (const responses of unanswered.values()) keepAliveAfter(responses.at(-1), false);
    },
  };
}

/** What the head of the answer says, and what Node then does; without effect once the head is sent. */
function keepAliveAfter(response: ServerResponse | undefined, isKept: boolean): void {
  if (response !== undefined) response.shouldKeepAlive = isKept;
}

/**
 * Node says that it is closed only of the response that is being sent, not of those that wait behind it: what they are counted
 * as would be held for good, and an address, then everyone, be refused.
 */
function abandon(response: ServerResponse): void {
  response.destroy();
  response.emit('close');
}
