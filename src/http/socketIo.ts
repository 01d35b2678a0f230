/**
 * What goes in and out of one websocket: sent when its reader reads, kept alive, and not read while it does not.
 */
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';

/** Above this much unread output a socket's input is left unread too, so that pings can't pile up pongs. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Well under the 60 s after which proxies drop silent connections. */
const PING_INTERVAL_MS = 12_000;

/**
 * Answers when the bytes left the process, which is what holds the next pull back. On a socket that is
 * closing it answers when that is over and its subscriptions were told: answering at once would let a
 * subscription with much to say spin, and keep the very event from being seen that ends it.
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

/** Output that is still on its way is not judged here: whether it moves, stalledSockets.ts decides. */
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
