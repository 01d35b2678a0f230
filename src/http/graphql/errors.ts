/**
 * Maps thrown values to the errors that clients see, for HTTP, SSE and websockets.
 *
 * `DomainError`s, GraphQL's own errors and the network's refusals keep their message and get a code of the
 * closed set. An unavailable network or database gets a code and a fixed message. Every other error is a
 * defect and is masked. maskErrors.ts logs defects and an unavailable database with the request id.
 */
import { PothosValidationError } from '@pothos/core';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { databaseUnavailable } from './databaseUnavailable.ts';
import { DomainError, ERROR_CODES, type ErrorCode, type ErrorDetails } from '../../lib/errors.ts';
import { withoutStack } from '../../lib/withoutStack.ts';
import { NetworkRefusal, NetworkUnavailable } from '../../ledger/network/port.ts';
import { toClientDetails } from './errorDetails.ts';
import { escapeUnprintable, truncate } from '../../schema/core/showValue.ts';

/** GraphQL's messages repeat whole values, which may be large. */
const MAX_MESSAGE_CHARACTERS = 600;

/** The HTTP status of an error before execution, for clients of graphql-response+json. */
const HTTP_STATUS: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  DOCUMENT_NOT_TRUSTED: 403,
  RATE_LIMITED: 429,
  OVERLOADED: 503,
  DATABASE_UNAVAILABLE: 503,
  INTERNAL_SERVER_ERROR: 500,
};

/** Errors of the GraphQL request itself: answered 400, or 200 to clients of plain application/json. */
const CODES_OF_THE_REQUEST = new Set<ErrorCode>([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

interface ShownError {
  code: ErrorCode;
  message: string;
  details?: ErrorDetails;
  /** Set by the GraphQL-over-HTTP layer; overrides the table. */
  http?: unknown;
}

/** A cause that an operator has to know, and the client must not see. */
interface Failure {
  cause: unknown;
  isDefect: boolean;
}

const mapped = new WeakSet<GraphQLError>();
const failures = new WeakMap<GraphQLError, Failure>();
const unanswered = new WeakMap<GraphQLError, unknown>();

/**
 * Another service did not answer: only the log says why, because the reason may hold addresses that a client
 * must not see.
 */
const OTHER_SERVICE_UNAVAILABLE: ReadonlySet<ErrorCode> = new Set([
  'LEDGER_UNAVAILABLE',
  'INDEXER_UNAVAILABLE',
  'RAMP_UNAVAILABLE',
]);

/** The error as a client may see it. Idempotent. */
export function toClientError(thrown: unknown): GraphQLError {
  if (isMapped(thrown)) return thrown;
  const root = rootOf(thrown);
  if (isMapped(root)) return root;
  const located = locatedOf(thrown);
  const shown = judge(root, located);
  const extensions: Record<string, unknown> = {
    ...(shown?.details && toClientDetails(shown.details)),
    code: shown?.code ?? 'INTERNAL_SERVER_ERROR',
  };
  if (located?.path === undefined) {
    extensions['http'] = shown?.http ?? httpOf(shown?.code ?? 'INTERNAL_SERVER_ERROR', shown?.details);
  }
  const message = shown?.message ?? ERROR_CODES.INTERNAL_SERVER_ERROR;
  const text = escapeUnprintable(truncate(message, MAX_MESSAGE_CHARACTERS));
  const place = {
    nodes: located?.nodes,
    source: located?.source,
    positions: located?.positions,
    path: located?.path,
  };
  const error = withoutStack(() => new GraphQLError(text, { ...place, extensions }));
  mapped.add(error);
  if (shown === undefined || shown.code === 'DATABASE_UNAVAILABLE') {
    failures.set(error, { cause: root, isDefect: shown === undefined });
  } else if (OTHER_SERVICE_UNAVAILABLE.has(shown.code)) {
    unanswered.set(error, root);
  }
  return error;
}

/**
 * The code that a client sees for a thrown value. Every failed mutation needs it, so no error is made for it.
 */
export function codeOf(thrown: unknown): ErrorCode {
  const root = rootOf(thrown);
  return judge(root, locatedOf(thrown))?.code ?? 'INTERNAL_SERVER_ERROR';
}

function locatedOf(thrown: unknown): GraphQLError | undefined {
  return thrown instanceof GraphQLError ? thrown : undefined;
}

function isMapped(error: unknown): error is GraphQLError {
  return error instanceof GraphQLError && mapped.has(error);
}

/** Describes a failure for the log. */
export function causeOf(isDefect: boolean): string {
  return isDefect ? 'this is a defect' : 'the database was not available';
}

/** Returns the failure behind an error only once, so that it is logged once. */
export function takeFailure(error: GraphQLError): Failure | undefined {
  const failure = failures.get(error);
  failures.delete(error);
  return failure;
}

/** Why another service did not answer, for the line of the operation in the log. */
export function unansweredBecause(error: GraphQLError): unknown {
  return unanswered.get(error);
}

/** The error as JSON, without the fields for the HTTP layer. */
export function toWireError(error: GraphQLError): GraphQLFormattedError {
  const { extensions, ...rest } = error.toJSON();
  const { http: _http, ...visible } = extensions ?? {};
  return { ...rest, extensions: visible };
}

/** The first cause, which decides the code: GraphQL wraps the values that resolvers throw. */
function rootOf(thrown: unknown): unknown {
  let root = thrown;
  while (root instanceof GraphQLError && root.originalError !== undefined) root = root.originalError;
  return root;
}

/** Returns undefined for a defect. */
function judge(root: unknown, located: GraphQLError | undefined): ShownError | undefined {
  const refusal = root instanceof DomainError ? root : databaseUnavailable(root);
  if (refusal !== null) return { code: refusal.code, message: refusal.message, details: refusal.details };
  if (root instanceof NetworkUnavailable) {
    return { code: 'LEDGER_UNAVAILABLE', message: ERROR_CODES.LEDGER_UNAVAILABLE };
  }
  if (root instanceof NetworkRefusal) {
    return { code: 'LEDGER_REFUSED', message: root.message, details: { reason: root.reason } };
  }
  if (root instanceof PothosValidationError) return { code: 'BAD_USER_INPUT', message: root.message };
  if (root instanceof GraphQLError) return judgeGraphQLError(root, located ?? root);
  return undefined;
}

/** Messages of yoga and graphql-ws for a document with several operations, or without the named operation. */
const WITHOUT_OPERATION: ReadonlySet<string> = new Set([
  'Could not determine what operation to execute.',
  'Unable to identify operation',
]);
const NAME_OPERATION =
  'It is not clear which operation to run: send as "operationName" the name of one that the document has.';

/** Errors of graphql-js, of yoga and of the scalars. */
function judgeGraphQLError(root: GraphQLError, located: GraphQLError): ShownError | undefined {
  const message = WITHOUT_OPERATION.has(root.message) ? NAME_OPERATION : root.message;
  const { code, http, details } = { ...located.extensions, ...root.extensions };
  // An error of the document, such as a variable without a use, is not about the variable's value.
  const aboutVariable = code === 'GRAPHQL_VALIDATION_FAILED' ? undefined : variableProblem(root, located);
  if (aboutVariable !== undefined) return aboutVariable;
  // A request that is not a GraphQL request is never answered 200.
  if (code === 'BAD_REQUEST') return { code, message, http: { ...(http as object), spec: false } };
  if (isErrorCode(code)) return { code, message, http, details: detailsOf(details) };
  if (message.startsWith('Argument "')) return { code: 'BAD_USER_INPUT', message };
  if (http !== undefined) return { code: 'BAD_REQUEST', message, http };
  if (message.startsWith('Syntax Error')) return { code: 'GRAPHQL_PARSE_FAILED', message };
  // An error with a path comes from the execution: a resolver returned a value that its type can't serialize.
  return located.path === undefined ? { code: 'BAD_REQUEST', message } : undefined;
}

/** Maps `Variable "$input" got invalid value … at "input.amountCO2e"; …` and gives the field as a detail. */
function variableProblem(root: GraphQLError, located: GraphQLError): ShownError | undefined {
  const variable = /^Variable "\$(\w+)"/.exec(located.message)?.[1];
  if (variable === undefined) return undefined;
  const reason = located === root ? '' : root.message;
  const place = located.message.slice(0, located.message.length - reason.length);
  const object = / at "([\w.[\]]+)"; $/.exec(place)?.[1] ?? variable;
  // For a missing or unknown member, graphql-js names the object around the member.
  const member = /^Field "(\w+)" (?:of required type|is not defined)/.exec(reason)?.[1];
  const field = member === undefined ? object : `${object}.${member}`;
  return {
    code: 'BAD_USER_INPUT',
    message: reason === '' ? located.message : `Variable "$${variable}" at ${field}: ${reason}`,
    details: { ...detailsOf(root.extensions['details']), field },
  };
}

function httpOf(code: ErrorCode, details: ErrorDetails | undefined): Record<string, unknown> {
  const headers: Record<string, string> = {};
  if (code === 'UNAUTHENTICATED') headers['WWW-Authenticate'] = 'Bearer error="invalid_token"';
  const retryAfterSeconds = details?.['retryAfterSeconds'];
  if (typeof retryAfterSeconds === 'number') headers['Retry-After'] = String(retryAfterSeconds);
  return { status: HTTP_STATUS[code] ?? 400, spec: CODES_OF_THE_REQUEST.has(code), headers };
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);
}

function detailsOf(value: unknown): ErrorDetails {
  return typeof value === 'object' && value !== null ? value : {};
}
