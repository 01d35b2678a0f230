/**
 * Requests that a client sends without waiting for the answers before them. No browser and no proxy does, but a stranger can put
 * thousands of requests into one packet, which Node reads to its end before anything else gets a turn: twenty connections
 * held up all clients for seconds.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { addressKey } from '../../lib/addressKey.ts';
import type { Limits } from '../../limits/limits.ts';
import { createTokenBuckets } from '../../limits/tokenBuckets.ts';
import { seeRequests, STOP } from './parsedRequests.ts';

/** More than the few that clients send ahead; what is beyond them is not read, and the connection ends with their answers. */
const MAX_UNANSWERED = 16;
/**
 * Connections of an address that may go beyond it, since the requests before the limit are answered each time. Further
 * connections of the address are closed then.
 */
const EXCESSES = { capacity: 20, perSecond: 1 };

const STATUS_OF_ERROR: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

interface AwaitedAnswers {
  /** Those of now. */
  list(): ServerResponse[];
  /** From now on, the last answer on each connection says that it is the last: what its client sent after it would be lost. */
  endConnections(): void;
}

/** @param limits its connections are an address's own only where no proxy is in front */
export function limitPipelining(server: Server, limits: Pick<Limits, 'trustedProxyHops'>): AwaitedAnswers {
  // Arrays, since a Set for each connection would keep each request's memory for long (fairQueue.ts).
  const unanswered = new Map<Duplex, ServerResponse[]>();
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
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const responses = unanswered.get(socket) ?? [];
    const lastWhole = responses.findLast(({ req }) => req.complete);
    // A refusal in front of its answer would be taken for that of the first request, which has been carried out.
    if (lastWhole !== undefined) endAfter(lastWhole, socket);
    else refuseUnreadable(error, socket, responses[0]);
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

/** Each further packet of its client is one more error. */
function endAfter(response: ServerResponse, socket: Duplex): void {
  if (!response.shouldKeepAlive) return;
  response.shouldKeepAlive = false;
  // Where its head was written before, it does not say that it is the last.
  response.once('close', () => socket.end(() => socket.destroy()));
}

/** Answers bytes that are no request as Node does without a listener. @param sending the answer that has begun, if any */
function refuseUnreadable(
  { code = '' }: NodeJS.ErrnoException,
  socket: Duplex,
  sending: ServerResponse | undefined,
): void {
  if (!socket.writable || sending?.headersSent === true) socket.destroy();
  else
    socket.end(
      `HTTP/1.1 ${STATUS_OF_ERROR.get(code) ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`,
      () => socket.destroy(),
    );
}

/**
 * Node says that it is closed only of the response that is being sent, not of those that wait behind it: what they are counted
 * as would be held for good, and an address, then all, be refused.
 */
function abandon(response: ServerResponse): void {
  response.destroy();
  response.emit('close');
}
