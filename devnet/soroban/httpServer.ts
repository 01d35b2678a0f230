/**
 * The node's HTTP side: JSON-RPC 2.0, and a friendbot.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';

interface HttpServerOptions {
  port: number;
  /** The answer as JSON text, `{"result":…}` or `{"error":…}`. */
  ask: (method: string, params: unknown) => string;
  /** Creates an account with lumens, and returns the transaction's hash; null when the account exists. */
  befriend: (address: string) => string | null;
  onError: (error: unknown) => void;
}

const HOST = '127.0.0.1';
/** Room for 200 keys of a few hundred bytes each, or one large transaction. */
const MAX_BODY_BYTES = 512 * 1024;
/**
 * Bytes up to this limit are read and dropped: a client that still sends would see a broken pipe instead of
 * the answer.
 */
const MAX_READ_BYTES = MAX_BODY_BYTES + 1024 * 1024;
/**
 * Longer than a function that waits for the node may block its program. Otherwise the program's connections
 * would be closed meanwhile, and its next request on one of them lost.
 */
export const KEEP_ALIVE_MS = 180_000;
const PARSE_ERROR = -32_700;
const INTERNAL_ERROR = -32_603;

export async function startHttpServer(
  options: HttpServerOptions,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      options.onError(error);
      response.destroy();
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, HOST, resolve);
  });
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('The node has no port');
  return {
    url: `http://${HOST}:${bound.port}`,
    async stop() {
      const stopped = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await stopped;
    },
  };
}

async function answer(
  options: HttpServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://node');
  if (url.pathname === '/friendbot') {
    respond(response, ...answerFriendbot(options, url.searchParams.get('addr') ?? ''));
    return;
  }
  const body = await readText(request);
  if (body === null) respond(response, 413, 'request body is too large');
  else respond(response, 200, answerCall(options, body));
}

/**
 * Null for a body that is too long. Not the product's `readBody`, which does more: this module has to run
 * without the rest of the repository. Uses events, because an iterator of the stream costs as much as the
 * rest of a small request.
 * @throws when the client closes the connection before the end
 */
export function readText(request: IncomingMessage): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const add = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
      else resolve(null);
      if (bytes > MAX_READ_BYTES) request.off('data', add).pause();
    };
    request.on('data', add).on('error', reject);
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.on('close', () => reject(new Error('The client went away before the end of the body')));
  });
}

function answerCall(options: HttpServerOptions, body: string): string {
  const question = parsed(body);
  if (typeof question?.method !== 'string') return failure(null, PARSE_ERROR, 'invalid request');
  const { id = null, method, params = {} } = question;
  try {
    // The result stays text, because a page of events may have megabytes.
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${options.ask(method, params).slice(1)}`;
  } catch (error) {
    options.onError(error);
    return failure(id, INTERNAL_ERROR, error instanceof Error ? error.message : String(error));
  }
}

function answerFriendbot(options: HttpServerOptions, address: string): [status: number, body: string] {
  try {
    const hash = options.befriend(address);
    if (hash !== null) return [200, JSON.stringify({ successful: true, hash })];
    return [400, JSON.stringify({ detail: 'createAccountAlreadyExist' })];
  } catch (error) {
    return [400, JSON.stringify({ detail: error instanceof Error ? error.message : String(error) })];
  }
}

function failure(id: unknown, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}

function parsed(text: string): { id?: unknown; method?: unknown; params?: unknown } | null {
  try {
    return JSON.parse(text) as { id?: unknown; method?: unknown; params?: unknown } | null;
  } catch {
    return null;
  }
}

function respond(response: ServerResponse, status: number, body: string): void {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, headers).end(body);
}
