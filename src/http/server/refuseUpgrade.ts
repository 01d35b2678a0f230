/**
 * Refuses a websocket upgrade, in plain HTTP, because the connection is not a websocket yet.
 */
import type { Duplex } from 'node:stream';

/** @param status the status line's end, such as "403 Forbidden" */
export function refuseUpgrade(
  socket: Duplex,
  status: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const lines = Object.entries({ connection: 'close', 'content-length': '0', ...headers });
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  // The socket is destroyed, because no timeout applies to a connection that has left HTTP.
  socket.end(`HTTP/1.1 ${status}\r\n${text}\r\n`, () => socket.destroy());
}

/** Refuses a socket beyond the limits; the client may try again later. */
export function refuseForNow(socket: Duplex, retryAfterSeconds: number): void {
  refuseUpgrade(socket, '429 Too Many Requests', { 'retry-after': String(retryAfterSeconds) });
}
