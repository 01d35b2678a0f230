/**
 * Reads a request's body as bytes, up to a limit.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/**
 * This much beyond the limit is read and dropped: a client that is still sending when the connection closes
 * sees a broken pipe instead of the error.
 */
const MAX_DROPPED_BYTES = 1024 * 1024;

class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/**
 * Whether the client disconnected, which is no defect and needs no answer. The request may have arrived
 * completely without being read, because it waited for its turn.
 */
export function hasLeft(request: IncomingMessage, error: unknown): boolean {
  return error instanceof ClientGone || (request.destroyed && !request.complete);
}

/**
 * @returns null when the body is larger than `maxBytes`
 * @throws ClientGone when the client goes away before its end
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const declaredBytes = Number(request.headers['content-length'] ?? 0);
  if (declaredBytes > maxBytes + MAX_DROPPED_BYTES) return Promise.resolve(null);
  // Small bodies arrive with their headers, and wait.
  if (request.complete && !request.destroyed) {
    const chunks: Buffer[] = [];
    const next = () => request.read() as Buffer | null;
    // Before Node 26 the first chunk is the whole body; since then it is the content of one packet.
    for (let chunk = next(); chunk !== null; chunk = next()) chunks.push(chunk);
    const whole = joined(chunks);
    return Promise.resolve(whole.length > maxBytes ? null : whole);
  }
  // Events are used because an iterator of the stream costs as much as all other work of a small request.
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let byteLength = 0;
    const add = (chunk: Buffer) => {
      byteLength += chunk.length;
      if (byteLength <= maxBytes) chunks.push(chunk);
      else chunks.length = 0;
      if (byteLength <= maxBytes + MAX_DROPPED_BYTES) return;
      request.off('data', add).pause();
      resolve(null);
    };
    const leave = () => {
      // The event also comes after the end of a body.
      if (!request.readableEnded) reject(new ClientGone('the client went away before the end of the body'));
    };
    if (request.destroyed) return leave();
    request.on('data', add).on('error', reject).on('close', leave);
    request.on('end', () => resolve(byteLength > maxBytes ? null : joined(chunks)));
  });
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks;
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
}

/**
 * Gives a body that is already read to yoga's adapter, which takes `request.body`. The body is a stream
 * because the adapter lists the keys of its input, and the keys of a text are its characters.
 */
export function giveBody(request: IncomingMessage, body: Buffer): void {
  Object.assign(request, { body: Readable.from(body) });
}
