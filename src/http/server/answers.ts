/**
 * Answers outside of GraphQL: small JSON bodies, errors in GraphQL's format, and security headers.
 */
import type { ServerResponse } from 'node:http';
import type { DomainError, ErrorCode } from '../../lib/errors.ts';
import { toClientError } from '../graphql/errors.ts';

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/** For everything but pages: a browser that opens the answer as a document loads and runs nothing. */
const NO_DOCUMENT = "default-src 'none'; frame-ancestors 'none'";

export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
  response.setHeader('content-security-policy', NO_DOCUMENT);
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
