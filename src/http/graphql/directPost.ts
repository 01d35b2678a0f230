/**
 * A shortcut for a POST of JSON whose document is validated: from node:http into the pipeline, without yoga's
 * request and response objects.
 *
 *   plain request? ─▶ gate ─▶ body ─▶ been validated? ─▶ the pipeline's execution ─▶ answer
 *         └─no────────┴─refused───────────┴─no─▶ yoga, with what has been done already
 *
 * Only requests that yoga would answer in the same way take the shortcut. yoga handles other methods and
 * content types, requests with an Origin header or further parameters, subscriptions, and every error before
 * the execution.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { getOperationAST, OperationTypeNode, type DocumentNode, type ExecutionResult } from 'graphql';
import { processRegularResult } from 'graphql-yoga';
import { rateLimitHeaders } from '../../limits/rateLimits.ts';
import { isObject, parseJsonObject } from '../../lib/parseJson.ts';
import { giveBody, readBody } from '../../lib/readBody.ts';
import { stringify } from '../../lib/readyJson.ts';
import { withoutStack } from '../../lib/withoutStack.ts';
import { MIN_COMPRESSED_BYTES } from '../server/compression.ts';
import type { DocumentSource } from '../documents/documentSource.ts';
import type { Exchange } from '../server/exchange.ts';
import type { Gate } from '../server/gate.ts';
import type { CheckedDocuments } from '../documents/checkedDocuments.ts';
import type { TransportContext } from './transportContext.ts';

interface DirectPostOptions {
  path: string;
  gate: Pick<Gate, 'enter'>;
  documents: Pick<DocumentSource, 'documentOf'>;
  validated: Pick<CheckedDocuments, 'get'>;
  execute(operation: DirectOperation, context: TransportContext): Promise<ExecutionResult>;
}

export interface DirectOperation {
  document: DocumentNode;
  operationName: string | null | undefined;
  variables: Record<string, unknown> | null | undefined;
}

type DirectExchange = Pick<Exchange, 'request' | 'response' | 'headers' | 'prepare'>;

/**
 * Answers the request, whose body has a declared length, or prepares `context` and the request for yoga.
 * @returns whether it has answered
 */
export type DirectPost = (exchange: DirectExchange, context: TransportContext) => Promise<boolean>;

type MediaType = 'application/json' | 'application/graphql-response+json';

/** The content types that clients send, byte for byte. Other spellings may be valid too; yoga decides. */
const CONTENT_TYPES: ReadonlySet<string> = new Set([
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-8',
  'application/json; charset=UTF-8',
  'application/json;charset=UTF-8',
]);

/** yoga's media type for each `accept` header that clients send; '' stands for no header. */
const MEDIA_TYPES: ReadonlyMap<string, MediaType> = new Map([
  ['', 'application/json'],
  ['*/*', 'application/json'],
  ['application/json', 'application/json'],
  ['application/graphql-response+json', 'application/graphql-response+json'],
  ['application/graphql-response+json, application/json', 'application/graphql-response+json'],
  ['application/graphql-response+json,application/json;q=0.9', 'application/graphql-response+json'],
]);

/** Node enforces the declared length, which the router has compared with the limit. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

export function createDirectPost(options: DirectPostOptions): DirectPost {
  const { gate } = options;
  return async (exchange, context) => {
    const { request } = exchange;
    const mediaType = mediaTypeOf(request, options.path);
    if (mediaType === null) return false;
    try {
      await gate.enter(request.headers.authorization, context);
    } catch (error) {
      context.refusal = { error };
      return false;
    }
    const body = (await readBody(request, NO_LIMIT)) ?? Buffer.alloc(0);
    const operation = isUtf8(body) ? operationIn(body.toString(), options) : null;
    if (operation === null) {
      giveBody(request, body);
      return false;
    }
    const result = await options.execute(operation, context);
    sendResult(exchange, result, mediaType, context);
    return true;
  };
}

function mediaTypeOf({ method, url, headers }: IncomingMessage, path: string): MediaType | null {
  if (method !== 'POST' || url !== path) return null;
  if (headers.origin !== undefined || headers['content-encoding'] !== undefined) return null;
  if (!CONTENT_TYPES.has(headers['content-type'] ?? '')) return null;
  return MEDIA_TYPES.get(headers.accept ?? '') ?? null;
}

/**
 * Returns null unless the text is a validated query or mutation with only its variables and operation name.
 */
function operationIn(text: string, { documents, validated }: DirectPostOptions): DirectOperation | null {
  const params = parseJsonObject(text);
  if (params === null) return null;
  const { query, variables, operationName, ...others } = params;
  if (typeof query !== 'string' || !isNameOrNone(operationName) || !isObjectOrNone(variables)) return null;
  for (const name in others) if (Object.hasOwn(others, name)) return null;
  const document = validated.get(query);
  const operation = document && getOperationAST(document, operationName);
  if (document === undefined || operation == null) return null;
  if (operation.operation === OperationTypeNode.SUBSCRIPTION) return null;
  try {
    documents.documentOf({ query });
  } catch {
    return null;
  }
  return { document, operationName, variables };
}

function isNameOrNone(value: unknown): value is string | null | undefined {
  return value == null || typeof value === 'string';
}

function isObjectOrNone(value: unknown): value is Record<string, unknown> | null | undefined {
  return value == null || isObject(value);
}

/** The output of yoga's result processor, without a Response. */
interface Sent {
  body: string;
  status: number;
  headers: Record<string, string>;
}

/** Replaces the fetch standard's Response, and keeps what it is made of. */
const FETCH_API = {
  Response: class {
    readonly sent: Sent;
    constructor(body: string, { status, headers }: Omit<Sent, 'body'>) {
      this.sent = { body, status, headers };
    }
  },
} as unknown as Parameters<typeof processRegularResult>[1];

function sendResult(
  exchange: DirectExchange,
  result: ExecutionResult,
  mediaType: MediaType,
  { usages }: TransportContext,
): void {
  const { request, response, headers } = exchange;
  const {
    body,
    status,
    headers: own,
  } = result.errors === undefined ? dataOf(result, mediaType) : errorsOf(result, mediaType);
  const bytes = Buffer.byteLength(body);
  if (bytes < MIN_COMPRESSED_BYTES || request.headers['accept-encoding'] === undefined) {
    const head = [...headers, 'content-length', String(bytes)];
    addHeaders(head, own);
    addHeaders(head, rateLimitHeaders(usages));
    response.writeHead(status, head);
  } else {
    exchange.prepare();
    response.writeHead(status, { ...own, ...rateLimitHeaders(usages), 'content-length': bytes });
  }
  response.end(body);
}

function addHeaders(to: string[], headers: Readonly<Record<string, string>>): void {
  for (const name in headers) to.push(name, headers[name] ?? '');
}

function dataOf(result: ExecutionResult, mediaType: MediaType): Sent {
  const headers = { 'Content-Type': `${mediaType}; charset=utf-8` };
  return { body: stringify(result), status: 200, headers };
}

function errorsOf(result: ExecutionResult, mediaType: MediaType): Sent {
  // processRegularResult makes each error again, without the parts that clients must not see.
  const answer: unknown = withoutStack(() => processRegularResult(result, FETCH_API, mediaType));
  return (answer as { sent: Sent }).sent;
}
