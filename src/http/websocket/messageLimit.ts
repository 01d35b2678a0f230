/**
 * Ends websockets that send messages faster than a client needs to: reading a message costs time even if it is
 * refused. Each socket has a budget, and each address one for all of its sockets.
 */
import type { WebSocket } from 'ws';
import { createTokenBuckets, type TokenBuckets } from '../../limits/tokenBuckets.ts';

/** A hundred subscriptions, opened and completed again and again: ten times the need of a busy client. */
const SOCKET_MESSAGES = { capacity: 1_000, perSecond: 200 };
/** Pings and pongs of the websocket itself; clients send one in some seconds. */
const SOCKET_CONTROL_FRAMES = { capacity: 100, perSecond: 10 };
/** An operation takes two messages, and sockets that are lost are opened again all at once. */
const MESSAGES_PER_OPERATION = 2;
const BURST_SECONDS = 10;
/** Time for the close reason to arrive. */
const CLOSE_GRACE_MS = 1_000;
const TOO_MANY = 4429;

/** One for all sockets of a server. */
export type MessageLimit = (socket: WebSocket, address: string) => AdmitMessage;

/** Counts a message. @returns false when the socket is closed, or closing: the message is not handled */
export type AdmitMessage = () => boolean;

/** @param operationsPerMinute that one address may begin */
export function createMessageLimit(operationsPerMinute: number, nowMs: () => number): MessageLimit {
  const perSecond = (operationsPerMinute * MESSAGES_PER_OPERATION) / 60;
  const ofAddresses = createTokenBuckets({ capacity: perSecond * BURST_SECONDS, perSecond }, nowMs);
  return (socket, address) => {
    const messages = createTokenBuckets(SOCKET_MESSAGES, nowMs);
    const controlFrames = createTokenBuckets(SOCKET_CONTROL_FRAMES, nowMs);
    const admit = (own: TokenBuckets): boolean => {
      if (socket.readyState !== socket.OPEN) return false;
      const isOwnEnough = own.take('', 1);
      if (isOwnEnough && ofAddresses.take(address, 1)) return true;
      end(socket, `Too many messages from this ${isOwnEnough ? 'address' : 'socket'}; send fewer.`);
      return false;
    };
    for (const event of ['ping', 'pong'] as const) socket.on(event, () => admit(controlFrames));
    return () => admit(messages);
  };
}

function end(socket: WebSocket, reason: string): void {
  socket.close(TOO_MANY, reason);
  // Nothing more is read from it, not even its close frame.
  socket.pause();
  setTimeout(() => socket.terminate(), CLOSE_GRACE_MS).unref();
}
