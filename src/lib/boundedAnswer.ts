/**
 * Reads other servers' answers, which may be endless or never end, up to a limit of size and time.
 */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
}

/**
 * The body as text. @throws AnswerTooLong when it is longer than `maxBytes`, or when the signal aborts; the
 *   rest is not read
 * @param signal the one of the request. `fetch` itself may lose it once the headers are there, because on
 *   Node 20 its listener can be collected as garbage
 */
export async function readBounded(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let byteLength = 0;
  const body = response.body as ReadableStream<Uint8Array> | null;
  try {
    // Leaving the loop cancels the body, so an endless answer ends here.
    for await (const chunk of body ? Readable.fromWeb(body, { signal }) : []) {
      const bytes = chunk as Uint8Array;
      byteLength += bytes.length;
      if (byteLength > maxBytes) throw new AnswerTooLong(`its answer is longer than ${maxBytes} bytes`);
      chunks.push(bytes);
    }
  } catch (error) {
    // The signal says why, such as a timeout.
    signal.throwIfAborted();
    throw error;
  }
  return Buffer.concat(chunks).toString('utf8');
}
