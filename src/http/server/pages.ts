/**
 * Serves the public pages. `src/pages` makes them from answers of the GraphQL API; this file handles
 * requests, limits and failures.
 */
import type { IncomingMessage } from 'node:http';
import type { ExecutionResult } from 'graphql';
import { databaseUnavailable } from '../graphql/databaseUnavailable.ts';
import { createConcurrencyLimit, type ConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import { DomainError, ERROR_CODES } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { yieldToEventLoop } from '../../lib/yieldToEventLoop.ts';
import { hasLeft, readBody } from '../../lib/readBody.ts';
import { causeOf, toClientError } from '../graphql/errors.ts';
import type { Pipeline } from '../graphql/yoga.ts';
import { contextOf, type Exchange } from './exchange.ts';
import { pathOf, queryOf } from './requestTarget.ts';

/** A request for a page, as far as pages know requests. */
export interface PageRequest {
  /** HEAD is answered like GET, without a body. */
  method: 'GET' | 'POST';
  path: string;
  query: URLSearchParams;
  /** The fields of a form; empty for GET. */
  form: URLSearchParams;
  /** Runs one operation of the GraphQL API as the public. */
  ask(source: string, variables?: Record<string, unknown>): Promise<ExecutionResult>;
  /** Identifies the client where clients take turns. */
  addressKey: string;
  /** Charges the client's address for computing time outside of its operations. */
  chargeCpu(ms: number): void;
}

export interface PageAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array;
}

/** Why there is no page. */
export interface PageFailure {
  status: number;
  message: string;
  requestId: string;
  retryAfterSeconds?: number | undefined;
}

export interface PublicPages {
  has(path: string): boolean;
  answer(request: PageRequest): Promise<PageAnswer>;
  failure(failure: PageFailure): PageAnswer;
}

interface PageServices {
  pipeline: Pick<Pipeline, 'gate' | 'ask' | 'chargeCpu'>;
  places: Pick<ConcurrencyLimit, 'take'>;
  log: Pick<Logger, 'error'>;
}

/** Computing time of a page with its queries. Assets are kept as bytes; a PDF is charged where it is made. */
const PAGE_MS = 4;

/** A certificate's file with the longest texts, escaped by the form, is under 20 kB. */
const MAX_FORM_BYTES = 64 * 1024;

/**
 * Pages that are made at a time. A page computes for some milliseconds without a pause: if an address had
 * more places, all others would wait for all of its pages. The many other places are for pages that wait for
 * the network.
 */
export function createPagePlaces(): ConcurrencyLimit {
  return createConcurrencyLimit({ maxConcurrent: 100, maxPerKey: 2, maxWaiting: 1_000, waitMs: 10_000 });
}

export async function answerPage(
  exchange: Exchange,
  pages: PublicPages,
  services: PageServices,
): Promise<void> {
  const { request, requestId } = exchange;
  const { pipeline, log } = services;
  const sendMade = (answer: PageAnswer) => {
    if (typeof answer.body === 'string') pipeline.chargeCpu(exchange.remoteAddress, PAGE_MS);
    send(exchange, answer);
  };
  try {
    await pipeline.gate.admitAddress(exchange.remoteAddress, []);
    const method = methodOf(request);
    if (method === null) {
      exchange.response.setHeader('allow', 'GET, HEAD, POST');
      return sendMade(pages.failure({ status: 405, message: 'Pages are read by GET.', requestId }));
    }
    // The form is read before a place is taken: a form that never arrives would hold the place until the
    // request times out.
    const asked = await pageRequest(exchange, method, services);
    const giveBack = await services.places.take(asked.addressKey);
    try {
      sendMade(await pages.answer(asked));
    } finally {
      giveBack();
    }
  } catch (error) {
    if (hasLeft(request, error)) return;
    if (error instanceof DomainError && error.code === 'RATE_LIMITED') return refuseBriefly(exchange, error);
    const unavailable = databaseUnavailable(error);
    if (!(error instanceof DomainError)) {
      log.error(
        { requestId, path: request.url?.slice(0, 200), err: error },
        `a page failed: ${causeOf(unavailable === null)}`,
      );
    }
    sendMade(pages.failure(failureOf(unavailable ?? error, requestId)));
  }
}

/** Answers with plain text: an HTML page for each refusal would cost as much as many of the refused pages. */
function refuseBriefly(exchange: Exchange, refusal: DomainError): void {
  const { status, retryAfterSeconds = 1 } = failureOf(refusal, exchange.requestId);
  send(exchange, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'retry-after': String(retryAfterSeconds) },
    body: `Your network has asked for more than one address may. Try again in ${retryAfterSeconds} s.\n`,
  });
}

async function pageRequest(
  exchange: Exchange,
  method: PageRequest['method'],
  services: PageServices,
): Promise<PageRequest> {
  const { request, response, remoteAddress } = exchange;
  const { pipeline } = services;
  const body = method === 'POST' ? await readBody(request, MAX_FORM_BYTES) : Buffer.alloc(0);
  if (body === null) {
    // The rest of the body is not read.
    response.setHeader('connection', 'close');
    throw new DomainError('BAD_REQUEST', `A form has at most ${MAX_FORM_BYTES} bytes.`);
  }
  return {
    method,
    path: pathOf(request),
    query: queryOf(request),
    form: new URLSearchParams(body.toString()),
    async ask(source, variables = {}) {
      const result = await pipeline.ask(source, variables, contextOf(exchange, null));
      // Other work gets its turn now, because the page is written next, without a pause.
      await yieldToEventLoop();
      return result;
    },
    addressKey: addressKey(remoteAddress),
    chargeCpu: (ms) => pipeline.chargeCpu(remoteAddress, ms),
  };
}

/** Returns null for a method that no page has. */
function methodOf({ method }: IncomingMessage): PageRequest['method'] | null {
  if (method === 'GET' || method === 'HEAD') return 'GET';
  return method === 'POST' ? 'POST' : null;
}

function failureOf(error: unknown, requestId: string): PageFailure {
  if (!(error instanceof DomainError))
    return { status: 500, message: ERROR_CODES.INTERNAL_SERVER_ERROR, requestId };
  const { message, extensions } = toClientError(error);
  const { http, retryAfterSeconds } = extensions as {
    http?: { status?: number };
    retryAfterSeconds?: number;
  };
  const status = error.code === 'NOT_FOUND' ? 404 : error.code === 'LEDGER_UNAVAILABLE' ? 503 : http?.status;
  return { status: status ?? 400, message, requestId, retryAfterSeconds };
}

function send({ request, response }: Exchange, { status, headers, body }: PageAnswer): void {
  // The socket was closed while the page was made.
  if (response.destroyed) return;
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, 'content-length': bytes.length });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}
