/**
 * One websocket's input and output: backpressure, keep-alive, and no reading from clients that don't read.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** Above this much unread output the socket's input is not read, so that pings can't accumulate pongs. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Well under the 60 s after which proxies drop silent connections. */
const PING_INTERVAL_MS = 12_000;
const FINAL_TEXT = 0x81;

/**
 * Sends a message of its own head and a tail that many messages share, both as `latin1` strings of their
 * bytes.
 * @returns whether the bytes have left the process; if not, the sender is called when they have
 */
export type SendEvent = (head: string, tail: string, sender: EventSender) => boolean;

export interface EventSender {
  onSent(): void;
}

interface Sender {
  /** Resolves when the bytes have left the process. */
  send(data: string): Promise<void>;
  /**
   * Sends an event that goes to thousands of sockets in one write, without the buffers and callbacks of ws.
   */
  sendEvent: SendEvent;
}

/**
 * The next pull waits until the bytes have left the process. On a closing socket, a send ends when the close
 * is done and the subscriptions are ended: ending it at once would let a busy subscription spin, and starve
 * the event that ends it.
 * @param connection the socket that ws writes to; without compression, ws writes each message at once, so the
 * order is kept
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
  return {
    async send(data) {
      if (socket.readyState !== socket.OPEN) return gone;
      const isSent = await new Promise<boolean>((resolve) => socket.send(data, (error) => resolve(!error)));
      return isSent ? undefined : gone;
    },
    sendEvent(head, tail, sender) {
      const isOpen = socket.readyState === socket.OPEN;
      if (isOpen && connection.write(textFrame(head, tail), 'latin1') && connection.writableLength === 0)
        return true;
      if (isOpen) callWhenSent(connection, sender, gone);
      else callWhenGone(sender, gone);
      return false;
    },
  };
}

/** Calls the sender after the pending output is written. */
function callWhenSent(connection: Socket, sender: EventSender, gone: Promise<void>): void {
  connection.write('', (error) => (error ? callWhenGone(sender, gone) : sender.onSent()));
}

function callWhenGone(sender: EventSender, gone: Promise<void>): void {
  void gone.then(() => sender.onSent());
}

/** The header of the last frame: the frames of an event mostly have one length. */
let lastHeader = { bytes: -1, text: '' };

/** A text in one frame of RFC 6455, as a `latin1` string of its bytes; servers do not mask. */
export function textFrame(head: string, tail: string): string {
  const bytes = head.length + tail.length;
  if (bytes !== lastHeader.bytes) {
    lastHeader = { bytes, text: String.fromCharCode(FINAL_TEXT, ...lengthBytes(bytes)) };
  }
  return lastHeader.text + head + tail;
}

function lengthBytes(bytes: number): number[] {
  if (bytes < 126) return [bytes];
  if (bytes < 0x1_0000) return [126, bytes >> 8, bytes & 0xff];
  const long = Buffer.alloc(8);
  long.writeBigUInt64BE(BigInt(bytes));
  return [127, ...long];
}

/**
 * Pings the client and ends a dead socket. With pending output, stalledSockets.ts decides whether the client
 * makes progress.
 */
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
