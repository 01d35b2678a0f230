/**
 * Applies the error table of errors.ts to the execution pipeline that HTTP, SSE and websockets share, and
 * logs defects and an unavailable database with the request id.
 */
import type { ExecutionResult, GraphQLError } from 'graphql';
import type { Logger } from '../../lib/logger.ts';
import { causeOf, takeFailure, toClientError } from './errors.ts';

export type ErrorLog = Pick<Logger, 'error'>;

/**
 * Maps one thrown value. If an operator has to know its cause, logs the cause and adds `requestId` to the
 * error.
 */
export function mapAndLog(thrown: unknown, requestId: string, log: ErrorLog): GraphQLError {
  const error = toClientError(thrown);
  const failure = takeFailure(error);
  if (failure !== undefined) {
    error.extensions['requestId'] = requestId;
    log.error(
      { requestId, path: error.path?.join('.'), err: failure.cause },
      `an operation failed: ${causeOf(failure.isDefect)}`,
    );
  }
  return error;
}

/** The pipeline may collect several errors into one: variables can be invalid in several ways. */
export function mapAllAndLog(thrown: readonly unknown[], requestId: string, log: ErrorLog): GraphQLError[] {
  const errors = thrown.flatMap((one) => (one instanceof AggregateError ? (one.errors as unknown[]) : [one]));
  return errors.map((error) => mapAndLog(error, requestId, log));
}

/** Maps the errors of a result before a transport serializes it. */
export function mapResult(result: ExecutionResult, requestId: string, log: ErrorLog): ExecutionResult {
  if (result.errors === undefined) return result;
  return { ...result, errors: result.errors.map((error) => mapAndLog(error, requestId, log)) };
}
