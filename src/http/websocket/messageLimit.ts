/**
 * Ends websockets that send messages faster than a client needs to: reading a message costs time even if it
 * is refused. Each socket has a budget, and each address one for all of its sockets.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { TOO_MANY } from './closeReason.ts';
import type { Limits } from '../../limits/limits.ts';
import { createTokenBuckets, TokenBucket } from '../../limits/tokenBuckets.ts';

/** A hundred subscriptions, opened and completed again and again: ten times the need of a busy client. */
const SOCKET_MESSAGES = { capacity: 1_000, perSecond: 200 };
/** Pings and pongs of the websocket itself; clients send one in some seconds. */
const SOCKET_CONTROL_FRAMES = { capacity: 100, perSecond: 10 };
/**
 * Parsing a message of 64 kB takes milliseconds, as much as some operations, so each piece of this size
 * counts as a message.
 */
const PIECE_BYTES = 4 * 1024;
/** An operation takes two messages. */
const MESSAGES_PER_OPERATION = 2;
/** Lost sockets are reopened all at once, each with a handshake and some subscriptions. */
const MESSAGES_PER_SOCKET = 4;
const BURST_SECONDS = 10;
/** Time for the reason to arrive and the client to end its side: a slow or distant client needs seconds. */
const CLOSE_GRACE_MS = 10_000;
/** Bytes on their way when the socket ended: several times what the kernels of both sides hold. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/** One for all sockets of a server. */
type MessageLimit = (socket: WebSocket, connection: Socket, address: string) => AdmitMessage;

/** Counts a message. @returns false when the socket is closed, or closing: the message is not handled */
export type AdmitMessage = (bytes: number) => boolean;

export function createMessageLimit(
  limits: Pick<Limits, 'RATE_LIMIT_ADDRESS_PER_MINUTE' | 'MAX_SOCKETS_PER_ADDRESS'>,
  nowMs: () => number,
): MessageLimit {
  const perSecond = (limits.RATE_LIMIT_ADDRESS_PER_MINUTE * MESSAGES_PER_OPERATION) / 60;
  const capacity = Math.max(perSecond * BURST_SECONDS, limits.MAX_SOCKETS_PER_ADDRESS * MESSAGES_PER_SOCKET);
  const ofAddresses = createTokenBuckets({ capacity, perSecond }, nowMs);
  return (socket, connection, address) => {
    const messages = new TokenBucket(SOCKET_MESSAGES, nowMs);
    const controlFrames = new TokenBucket(SOCKET_CONTROL_FRAMES, nowMs);
    const admit = (own: TokenBucket, points: number): boolean => {
      if (socket.readyState !== socket.OPEN) return false;
      const isOwnEnough = own.take(points);
      if (isOwnEnough && ofAddresses.take(address, points)) return true;
      end(
        socket,
        connection,
        `Too many messages from this ${isOwnEnough ? 'address' : 'socket'}; send fewer.`,
      );
      return false;
    };
    for (const event of ['ping', 'pong'] as const) socket.on(event, () => admit(controlFrames, 1));
    return (bytes) => admit(messages, 1 + Math.floor(bytes / PIECE_BYTES));
  };
}

/**
 * Sends the reason and ends this side; bytes that still arrive are discarded. Destroying the connection at
 * once would reset it: a client that is still writing would fail before it reads the reason.
 */
function end(socket: WebSocket, connection: Socket, reason: string): void {
  socket.close(TOO_MANY, reason);
  connection.end();
  let discardedBytes = 0;
  connection.removeAllListeners('data');
  connection.on('data', ({ length }: Buffer) => {
    discardedBytes += length;
    if (discardedBytes > MAX_DISCARDED_BYTES) connection.destroy();
  });
  connection.resume();
  setTimeout(() => connection.destroy(), CLOSE_GRACE_MS).unref();
}
