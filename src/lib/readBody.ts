/**
 * Reads a request's body as bytes, up to a limit.
 */
import type { IncomingMessage } from 'node:http';

/**
 * This much beyond the limit is read and dropped: a client that is still sending when the connection closes sees a
 * broken pipe instead of the error.
 */
const MAX_DROPPED_BYTES = 1024 * 1024;

/** @returns null when the body is larger than `maxBytes`. @throws when the client goes away before its end */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const declaredBytes = Number(request.headers['content-length'] ?? 0);
  if (declaredBytes > maxBytes + MAX_DROPPED_BYTES) return null;
  const chunks: Buffer[] = [];
  let byteLength = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    byteLength += chunk.length;
    if (byteLength <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
    if (byteLength > maxBytes + MAX_DROPPED_BYTES) return null;
  }
  return byteLength > maxBytes ? null : Buffer.concat(chunks, byteLength);
}
