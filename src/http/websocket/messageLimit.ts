/**
 * Ends websockets that send messages faster than a client needs to: reading a message costs time even if it is
 * refused.
 */
import type { WebSocket } from 'ws';

/** Messages, pings and pongs together: ten times the need of a busy client. */
const MAX_MESSAGES = 20_000;
const WINDOW_MS = 10_000;
/** Time for the close reason to arrive. */
const CLOSE_GRACE_MS = 1_000;
const POLICY_VIOLATION = 1008;

export function limitMessages(socket: WebSocket): void {
  let received = 0;
  let windowStart = performance.now();
  const count = () => {
    const now = performance.now();
    if (now - windowStart >= WINDOW_MS) {
      windowStart = now;
      received = 0;
    }
    received += 1;
    if (received <= MAX_MESSAGES || socket.readyState !== socket.OPEN) return;
    socket.close(POLICY_VIOLATION, `More than ${MAX_MESSAGES} messages in ${WINDOW_MS / 1000} s.`);
    // Nothing more is read from it, not even its close frame.
    socket.pause();
    setTimeout(() => socket.terminate(), CLOSE_GRACE_MS).unref();
  };
  for (const event of ['message', 'ping', 'pong'] as const) socket.on(event, count);
}
