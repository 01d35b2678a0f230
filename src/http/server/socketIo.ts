/**
 * Input and output of one websocket: backpressure, keep-alive, and no reading from a client that does not read.
 */
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';

/** Above this much unread output the socket's input is not read, so that pings can't accumulate pongs. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Well under the 60 s after which proxies drop silent connections. */
const PING_INTERVAL_MS = 12_000;

/**
 * Resolves when the bytes have left the process, which delays the next pull. On a closing socket it resolves when the
 * close is done and the subscriptions are ended: resolving at once would let a busy subscription spin, and starve the
 * event that ends it.
 */
export function createSender(
  socket: WebSocket,
  onClose: (code: number, reason: string) => void,
): (data: string) => Promise<void> {
  const gone = new Promise<void>((resolve) => {
    socket.once('close', (code, reason) => {
      onClose(code, reason.toString());
      resolve();
    });
  });
  return async (data) => {
    if (socket.readyState !== socket.OPEN) return gone;
    const isSent = await new Promise<boolean>((resolve) => socket.send(data, (error) => resolve(!error)));
    return isSent ? undefined : gone;
  };
}

/** Ignores pending output: stalledSockets.ts decides whether it makes progress. */
export function keepAlive(socket: WebSocket): () => void {
  let isAlive = true;
  socket.on('pong', () => {
    isAlive = true;
  });
  const timer = setInterval(() => {
    if (socket.readyState !== socket.OPEN || socket.bufferedAmount > 0) return;
    if (!isAlive) {
      socket.terminate();
      return;
    }
    isAlive = false;
    socket.ping();
  }, PING_INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

/** Stops reading from a client that does not read. */
export function limitUnread(socket: WebSocket, request: IncomingMessage): void {
  const pauseWhenFull = () => {
    if (socket.bufferedAmount > MAX_UNREAD_BYTES) socket.pause();
  };
  socket.on('message', pauseWhenFull);
  socket.on('ping', pauseWhenFull);
  request.socket.on('drain', () => socket.resume());
}
