/**
 * Ends connections whose client has stopped reading: answers, SSE and websockets.
 *
 * Subscriptions wait for the socket before they pull the next event, so a stalled reader costs little, but
 * would stay forever. A slow reader that makes progress is kept.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** A client may read nothing of its pending output for this long. */
const SOCKET_STALL_MS = 30_000;

/** Checks per stall time: a stalled connection ends at most this fraction late. */
const SWEEPS_PER_STALL = 4;

interface Progress {
  flushedBytes: number;
  kernelQueueBytes: number;
  /** Sweeps in a row in which neither number moved while output was waiting. */
  idleSweeps: number;
}

/** Watches every connection of a server until the server is closed. */
export function endStalledSockets(server: Server, stallMs: number = SOCKET_STALL_MS): void {
  const connections = new Map<Socket, Progress>();
  server.on('connection', (socket) => {
    connections.set(socket, { flushedBytes: 0, kernelQueueBytes: 0, idleSweeps: 0 });
    socket.once('close', () => connections.delete(socket));
  });
  const timer = setInterval(() => {
    for (const [socket, progress] of connections) {
      if (isStalled(socket, progress)) socket.destroy();
    }
  }, stallMs / SWEEPS_PER_STALL).unref();
  server.once('close', () => clearInterval(timer));
}

/** Counts sweeps, not time, so that a suspended process does not end its clients' connections. */
function isStalled(socket: Socket, progress: Progress): boolean {
  // bytesWritten counts bytes that were handed over; writableLength counts those of them that are not yet
  // written.
  const flushedBytes = socket.bytesWritten - socket.writableLength;
  const kernelQueueBytes = kernelQueueOf(socket);
  const hasMoved = flushedBytes !== progress.flushedBytes || kernelQueueBytes !== progress.kernelQueueBytes;
  progress.idleSweeps = hasMoved || socket.writableLength === 0 ? 0 : progress.idleSweeps + 1;
  progress.flushedBytes = flushedBytes;
  progress.kernelQueueBytes = kernelQueueBytes;
  return progress.idleSweeps >= SWEEPS_PER_STALL;
}

/**
 * Bytes of a large write that the kernel has not taken yet. Node counts a write only when all of it is out,
 * so without this number a slow reader of a large answer would look stalled. Node's own socket timeout reads
 * the same property; if it is missing, only that precision is lost.
 */
function kernelQueueOf(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (typeof handle !== 'object' || handle === null || !('writeQueueSize' in handle)) return 0;
  return Number(handle.writeQueueSize);
}
