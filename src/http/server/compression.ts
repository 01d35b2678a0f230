/**
 * Compresses answers of some size with brotli or gzip, as the client accepts. Streams (SSE, multipart) pass
 * untouched: their events are small, and must leave at once.
 *
 * An attacker who makes a victim's browser repeat a request can guess a secret in the answer by its
 * compressed length, when the answer also contains the attacker's text (BREACH). The attack needs a
 * credential that browsers send on their own, and this API has none: no cookies, only an Authorization header
 * that other sites' pages can't set.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { createHash } from 'node:crypto';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';

/** One packet on most networks: below, compression saves nothing. */
export const MIN_COMPRESSED_BYTES = 1_400;
/**
 * Maximum compressions at a time: they run on the four threads that also read files and look up names for
 * Node. Further answers are sent plain.
 */
const MAX_AT_A_TIME = 2;
/**
 * Memory for compressed answers that come again: histories and lists that many clients read and that do not
 * change.
 */
const MAX_KEPT_BYTES = 8 * 1024 * 1024;
/** About as fast as gzip, and a quarter smaller. */
const BROTLI_QUALITY = 4;
const GZIP_LEVEL = 4;

const COMPRESSIBLE =
  /^(application\/json|application\/graphql-response\+json|text\/(html|css|csv|javascript)|image\/svg\+xml)(;|$)/;

type Encoding = 'br' | 'gzip';
type Answer = Pick<ServerResponse, 'writeHead' | 'write' | 'end'>;

/**
 * @returns the function that makes one response compress its body; call it before anything is written to the
 * response
 */
export function createCompression(): (request: IncomingMessage, response: ServerResponse) => void {
  let running = 0;
  const kept = new LRUCache<string, Buffer>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: ({ length }) => length,
  });
  const compress = (body: Buffer, encoding: Encoding, done: (compressed: Buffer | null) => void) => {
    // The key is the whole body, so that a kept answer says exactly what this answer says.
    const key = `${encoding} ${createHash('sha256').update(body).digest('base64')}`;
    const known = kept.get(key);
    if (known !== undefined || running >= MAX_AT_A_TIME) {
      done(known ?? null);
      return;
    }
    running += 1;
    const finish = (error: Error | null, compressed: Buffer) => {
      running -= 1;
      if (error === null) kept.set(key, compressed);
      done(error === null ? compressed : null);
    };
    if (encoding === 'gzip') gzip(body, { level: GZIP_LEVEL }, finish);
    else brotliCompress(body, { params: brotliParams(body.length) }, finish);
  };
  return (request, response) => {
    const encoding = encodingFor(request.headers['accept-encoding']);
    if (encoding === null || request.method === 'HEAD') return;
    holdBody(response, (body, end) => {
      if (body.length < MIN_COMPRESSED_BYTES) {
        end(body);
        return;
      }
      compress(body, encoding, (compressed) => {
        // The request failed or its client left meanwhile.
        if (response.writableEnded || response.destroyed) return;
        if (compressed !== null) response.setHeader('content-encoding', encoding);
        end(compressed ?? body);
      });
    });
  };
}

/** Passes the whole body of a compressible answer to `finish`, which sends it; leaves other answers alone. */
function holdBody(
  response: ServerResponse,
  finish: (body: Buffer, end: (body: Buffer) => void) => void,
): void {
  const own: Answer = {
    writeHead: response.writeHead.bind(response),
    write: response.write.bind(response),
    end: response.end.bind(response),
  };
  const release = () => Object.assign(response, own);
  /** The body of an answer whose head is not sent yet. Answers are limited in size before they are made. */
  let held: Buffer[] | null = null;
  const hold = () => {
    if (held !== null || response.headersSent) return held !== null;
    if (!isCompressible(response)) {
      release();
      return false;
    }
    addVary(response);
    held = [];
    return true;
  };
  const writeHead = (status: number, ...rest: unknown[]) => {
    const [text, headers] = typeof rest[0] === 'string' ? [rest[0], rest[1]] : ['', rest[0]];
    response.statusCode = status;
    if (text !== '') response.statusMessage = text;
    for (const [name, value] of Object.entries((headers ?? {}) as OutgoingHttpHeaders)) {
      if (value !== undefined) response.setHeader(name, value);
    }
    return hold() ? response : own.writeHead(status);
  };
  const write = (...given: Parameters<Answer['write']>) => {
    if (!hold()) return own.write(...given);
    held?.push(bytesOf(given[0]));
    callbackIn(given)?.();
    return true;
  };
  const end = (...given: Parameters<Answer['end']>) => {
    if (!hold()) return own.end(...given);
    release();
    if (given[0] != null && typeof given[0] !== 'function') held?.push(bytesOf(given[0]));
    const [first = Buffer.alloc(0), ...others] = held ?? [];
    finish(others.length === 0 ? first : Buffer.concat([first, ...others]), (body) => {
      response.setHeader('content-length', body.length);
      own.end(body, callbackIn(given));
    });
    return response;
  };
  Object.assign(response, { writeHead, write, end });
}

function isCompressible(response: ServerResponse): boolean {
  const type = response.getHeader('content-type');
  return typeof type === 'string' && COMPRESSIBLE.test(type) && !response.hasHeader('content-encoding');
}

/** Keeps the names that CORS has set. */
function addVary(response: ServerResponse): void {
  const names = String(response.getHeader('vary') ?? '');
  if (/accept-encoding/i.test(names)) return;
  response.setHeader('vary', names === '' ? 'Accept-Encoding' : `${names}, Accept-Encoding`);
}

/** The encoding with the highest quality value; brotli when both are equal; null for none. */
export function encodingFor(accepted: string | string[] | undefined): Encoding | null {
  if (accepted === undefined) return null;
  const qualities = new Map(
    String(accepted)
      .toLowerCase()
      .split(',')
      .map((entry) => {
        const [name = '', ...parameters] = entry.split(';').map((part) => part.trim());
        const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
        return [name, quality === undefined ? 1 : Number(quality)] as const;
      }),
  );
  const qualityOf = (name: string) => qualities.get(name) ?? qualities.get('*') ?? 0;
  const [br, gz] = [qualityOf('br'), qualityOf('gzip')];
  if (!(br > 0 || gz > 0)) return null;
  return gz > br ? 'gzip' : 'br';
}

function bytesOf(chunk: unknown): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk);
  const { buffer, byteOffset, byteLength } = chunk as Uint8Array<ArrayBuffer>;
  return Buffer.from(buffer, byteOffset, byteLength);
}

function callbackIn(given: readonly unknown[]): (() => void) | undefined {
  return given.find((argument): argument is () => void => typeof argument === 'function');
}

function brotliParams(bytes: number): Record<number, number> {
  return {
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes,
  };
}
