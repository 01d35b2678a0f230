/**
 * Answers outside of GraphQL: small JSON bodies, errors in GraphQL's format, and security headers.
 */
import type { ServerResponse } from 'node:http';
import type { DomainError, ErrorCode } from '../../lib/errors.ts';
import { toClientError } from '../graphql/errors.ts';

/** Headers of every answer, as alternating names and values. */
export const COMMON_HEADERS: readonly string[] = [
  'x-content-type-options',
  'nosniff',
  'x-frame-options',
  'DENY',
  'referrer-policy',
  'no-referrer',
  'cache-control',
  'no-store',
  // A browser that opens the answer as a document loads and runs nothing. Pages set their own policy.
  'content-security-policy',
  "default-src 'none'; frame-ancestors 'none'",
  'vary',
  'Accept-Encoding',
];

/** @param headers alternating names and values */
export function setHeaders(response: ServerResponse, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) response.setHeader(headers[at] ?? '', headers[at + 1] ?? '');
}

/**
 * Calls back when the answer has left or never will: at once when the client has left, because Node emits no
 * second `close`.
 */
export function whenClosed(response: ServerResponse, callback: () => void): void {
  if (response.destroyed) callback();
  else response.once('close', callback);
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

/** In the format of GraphQL errors, so that clients parse one format. */
export function answerError(
  response: ServerResponse,
  status: number,
  code: ErrorCode,
  message: string,
  extensions: Readonly<Record<string, unknown>> = {},
): void {
  answerJson(response, status, { errors: [{ message, extensions: { code, ...extensions } }] });
}

/** Answers with the error table's mapping of a refusal, for requests that do not reach GraphQL. */
export function answerRefusal(response: ServerResponse, refusal: DomainError): void {
  const { message, extensions } = toClientError(refusal);
  const {
    http,
    code: _code,
    ...details
  } = extensions as Record<string, unknown> & {
    http: { status: number; headers: Record<string, string> };
  };
  for (const [name, value] of Object.entries(http.headers)) response.setHeader(name, value);
  answerError(response, http.status, refusal.code, message, details);
}
