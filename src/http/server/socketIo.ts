/**
 * Input and output of one websocket: backpressure, keep-alive, and no reading from a client that does not read.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** Above this much unread output the socket's input is not read, so that pings can't accumulate pongs. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Well under the 60 s after which proxies drop silent connections. */
const PING_INTERVAL_MS = 12_000;
const FINAL_TEXT = 0x81;

/** Sends a message made of an own head and a tail that many share, and calls back when its bytes have left the process. */
export type SendEvent = (head: string, tail: Buffer, sent: () => void) => void;

interface Sender {
  /** Resolves when the bytes have left the process. */
  send(data: string): Promise<void>;
  /** The same for what thousands of sockets are sent: in one write, where ws needs two and some callbacks. */
  sendEvent: SendEvent;
}

/**
 * That the bytes have left the process delays the next pull. On a closing socket that is said when the
 * close is done and the subscriptions are ended: saying it at once would let a busy subscription spin, and starve the
 * event that ends it.
 * @param connection what the websocket writes to; without compression, ws writes each message at once, so the order is kept
 */
export function createSender(
  socket: WebSocket,
  connection: Socket,
  onClose: (code: number, reason: string) => void,
): Sender {
  const gone = new Promise<void>((resolve) => {
    socket.once('close', (code, reason) => {
      onClose(code, reason.toString());
      resolve();
    });
  });
  const onceGone = (then: () => void) => void gone.then(then);
  return {
    async send(data) {
      if (socket.readyState !== socket.OPEN) return gone;
      const isSent = await new Promise<boolean>((resolve) => socket.send(data, (error) => resolve(!error)));
      return isSent ? undefined : gone;
    },
    sendEvent(head, tail, sent) {
      if (socket.readyState !== socket.OPEN) return onceGone(sent);
      connection.write(textFrame(head, tail), (error) => (error ? onceGone(sent) : sent()));
      return undefined;
    },
  };
}

/** A text in one frame of RFC 6455; servers do not mask. */
export function textFrame(head: string, tail: Buffer): Buffer {
  const bytes = Buffer.byteLength(head) + tail.length;
  const lengthBytes = bytes < 126 ? 0 : bytes < 0x1_0000 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + lengthBytes + bytes);
  frame[0] = FINAL_TEXT;
  frame[1] = lengthBytes === 0 ? bytes : lengthBytes === 2 ? 126 : 127;
  if (lengthBytes === 2) frame.writeUInt16BE(bytes, 2);
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(bytes), 2);
  const headEnd = 2 + lengthBytes + frame.write(head, 2 + lengthBytes);
  tail.copy(frame, headEnd);
  return frame;
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
export function limitUnread(socket: WebSocket, connection: Socket): void {
  const pauseWhenFull = () => {
    if (socket.bufferedAmount > MAX_UNREAD_BYTES) socket.pause();
  };
  socket.on('message', pauseWhenFull);
  socket.on('ping', pauseWhenFull);
  connection.on('drain', () => socket.resume());
}
