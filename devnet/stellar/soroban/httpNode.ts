/**
 * The node's HTTP side: JSON-RPC 2.0, a friendbot, and the faults of the wire.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { StrKey } from '@stellar/stellar-sdk';
import { readBody } from '../../../src/lib/readBody.ts';
import { AnswerLost, RpcError } from './rpcErrors.ts';
import type { Faults } from './faults.ts';

interface HttpNode {
  url: string;
  close(): Promise<void>;
}

interface HttpNodeOptions {
  faults: Faults;
  call: (method: string, params: unknown) => unknown;
  /** Makes an account with lumens, and gives the transaction's hash; null when there is one already. */
  befriend: (address: string) => string | null;
  /** Told of what no client should be able to cause. */
  onError: (error: unknown) => void;
}

/** 200 keys of a few hundred bytes each, or one large transaction. */
const MAX_BODY_BYTES = 512 * 1024;
const PARSE_ERROR = -32_700;
const INTERNAL_ERROR = -32_603;

export async function startHttpNode(options: HttpNodeOptions): Promise<HttpNode> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      options.onError(error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('The node has no port');
  return { url: `http://127.0.0.1:${bound.port}`, close: () => closeServer(server) };
}

async function answer(
  options: HttpNodeOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://node');
  if (url.pathname === '/friendbot') {
    answerFriendbot(options, url.searchParams.get('addr'), response);
    return;
  }
  const rawBody = await readBody(request, MAX_BODY_BYTES);
  if (!rawBody) {
    respond(response, 413, 'request body is too large');
    return;
  }
  if (options.faults.delayMs > 0) await delay(options.faults.delayMs);
  switch (options.faults.unreachable) {
    case 'reset':
      request.socket.resetAndDestroy();
      return;
    case 'status-503':
      respond(response, 503, 'no healthy upstream');
      return;
    case 'silent':
      return;
    case 'truncated':
      truncate(response, bodyOf(options, rawBody));
      return;
    case null:
      break;
    default:
      options.faults.unreachable satisfies never;
  }
  try {
    respond(response, 200, bodyOf(options, rawBody));
  } catch (error) {
    if (!(error instanceof AnswerLost)) throw error;
    request.socket.resetAndDestroy();
  }
}

/** @throws AnswerLost */
function bodyOf(options: HttpNodeOptions, rawBody: Buffer): string {
  const question = parseJson(rawBody);
  if (typeof question !== 'object' || question === null || !('method' in question)) {
    return failure(null, PARSE_ERROR, 'invalid request');
  }
  const { method, params, id = null } = question as { method: unknown; params?: unknown; id?: unknown };
  try {
    const result = options.call(String(method), params);
    return JSON.stringify({ jsonrpc: '2.0', id, result });
  } catch (error) {
    if (error instanceof AnswerLost) throw error;
    if (error instanceof RpcError) return failure(id, error.code, error.message);
    options.onError(error);
    return failure(id, INTERNAL_ERROR, error instanceof Error ? error.message : String(error));
  }
}

function failure(id: unknown, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}

/** Promises the whole body, sends half of it, and hangs up. */
function truncate(response: ServerResponse, body: string): void {
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.write(body.slice(0, body.length / 2), () => response.destroy());
}

function answerFriendbot(options: HttpNodeOptions, address: string | null, response: ServerResponse): void {
  if (address === null || !StrKey.isValidEd25519PublicKey(address)) {
    respond(response, 400, JSON.stringify({ detail: 'addr is not a valid address' }));
    return;
  }
  const hash = options.befriend(address);
  if (hash === null) respond(response, 400, JSON.stringify({ detail: 'createAccountAlreadyExist' }));
  else respond(response, 200, JSON.stringify({ successful: true, hash }));
}

function respond(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

function parseJson(rawBody: Buffer): unknown {
  try {
    return JSON.parse(rawBody.toString('utf8'));
  } catch {
    return null;
  }
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
