/**
 * Limits the requests that a client sends without waiting for earlier answers. No browser and no proxy does
 * this, but an attacker can put thousands of requests into one packet, which Node reads to its end before any
 * other work: twenty connections held up all clients for seconds.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { addressKey } from '../../lib/addressKey.ts';
import type { Limits } from '../../limits/limits.ts';
import { createTokenBuckets } from '../../limits/tokenBuckets.ts';
import { seeRequests, STOP } from './parsedRequests.ts';

/**
 * More than the few requests that clients send ahead. Further requests are not read, and the connection ends
 * after the answers.
 */
const MAX_UNANSWERED = 16;
/**
 * Connections of an address that may exceed MAX_UNANSWERED. Each of them gets answers up to that limit, so
 * further connections of the address are then closed.
 */
const EXCESSES = { capacity: 20, perSecond: 1 };

const STATUS_OF_ERROR: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

interface AwaitedAnswers {
  /** The answers that are awaited now. */
  list(): ServerResponse[];
  /**
   * From now on, the last answer on each connection says that the connection closes: later requests would be
   * lost.
   */
  endConnections(): void;
}

/** @param limits whether a proxy is in front, whose connections belong to many clients */
export function limitPipelining(server: Server, limits: Pick<Limits, 'TRUSTED_PROXY_HOPS'>): AwaitedAnswers {
  // Arrays, because a Set for each connection would keep each request's memory for long (fairQueue.ts).
  const unanswered = new Map<Duplex, ServerResponse[]>();
  let isEnding = false;
  const excesses = createTokenBuckets(EXCESSES, () => performance.now());
  server.on('connection', (socket) => {
    const address = addressKey(socket.remoteAddress ?? 'unknown');
    if (limits.TRUSTED_PROXY_HOPS === 0 && excesses.waitSeconds(address) > 0) {
      socket.destroy();
      return;
    }
    const responses: ServerResponse[] = [];
    unanswered.set(socket, responses);
    // If requests can't be seen, only the limit is lost.
    seeRequests(socket, () => {
      if (responses.length < MAX_UNANSWERED) return undefined;
      // This happens once: Node then reads nothing more of the socket.
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
    // A refusal sent before that answer would be taken for the answer to the first request, which has been
    // carried out.
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

/**
 * Sets whether the answer's head keeps the connection alive, and whether Node does; without effect once the
 * head is sent.
 */
function keepAliveAfter(response: ServerResponse | undefined, isKept: boolean): void {
  if (response !== undefined) response.shouldKeepAlive = isKept;
}

/** Ends the connection after the answer, once: each further packet of the client is one more error. */
function endAfter(response: ServerResponse, socket: Duplex): void {
  if (!response.shouldKeepAlive) return;
  response.shouldKeepAlive = false;
  // A head that was written before does not say that the connection closes.
  response.once('close', () => socket.end(() => socket.destroy()));
}

/**
 * Answers bytes that are not a request as Node does without a listener. @param sending the answer that has
 * begun, if any
 */
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
 * Closes a response that waits behind another. Node emits `close` only for the response that is being sent;
 * without it, the counters would never release the others, and the address, then all clients, would be
 * refused.
 */
function abandon(response: ServerResponse): void {
  response.destroy();
  response.emit('close');
}
