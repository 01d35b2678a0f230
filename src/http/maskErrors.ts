/**
 * The table of errors.ts put into the execution pipeline that HTTP, SSE and websockets share, with the one
 * place where defects are logged under their request id.
 */
import { GraphQLError } from 'graphql';
import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Logger } from '../logger.ts';
import { takeDefect, toClientError } from './errors.ts';

export type ErrorLog = Pick<Logger, 'error'>;

/** Maps one thrown value and logs it when it is a defect; its `requestId` then joins the answer. */
export function mapAndLog(thrown: unknown, requestId: string, log: ErrorLog): GraphQLError {
  const error = toClientError(thrown);
  const defect = takeDefect(error);
  if (defect !== undefined) {
    error.extensions['requestId'] = requestId;
    log.error(
      { requestId, path: error.path?.join('.'), err: defect.cause },
      'an operation failed by a defect',
    );
  }
  return error;
}

/** What the pipeline may have collected into one error: variables can be wrong in several ways at once. */
export function mapAllAndLog(thrown: unknown, requestId: string, log: ErrorLog): GraphQLError[] {
  const errors = thrown instanceof AggregateError ? (thrown.errors as unknown[]) : [thrown];
  return errors.map((error) => mapAndLog(error, requestId, log));
}

/** For yoga and for envelop: every result's errors pass the table before any transport prints them. */
export function useErrorTable(log: ErrorLog): Plugin {
  const mapResult = (result: ExecutionResult, context: unknown): ExecutionResult =>
    result.errors === undefined
      ? result
      : { ...result, errors: result.errors.map((error) => mapAndLog(error, requestIdOf(context), log)) };
  return {
    onParse: () => (payload) => {
      if (payload.result instanceof GraphQLError)
        payload.result.extensions['code'] ??= 'GRAPHQL_PARSE_FAILED';
    },
    onValidate: () => (payload) => {
      for (const error of payload.result) error.extensions['code'] ??= 'GRAPHQL_VALIDATION_FAILED';
      if (!payload.valid) payload.setResult(payload.result.map(toClientError));
    },
    onExecute: () => ({
      onExecuteDone: ({ args, result, setResult }) => {
        if (!isStream(result)) setResult(mapResult(result, args.contextValue));
      },
    }),
    onSubscribe: ({ args }) => ({
      onSubscribeResult: ({ result, setResult }) => {
        if (!isStream(result)) setResult(mapResult(result, args.contextValue));
        return {
          onNext: (next) => {
            next.setResult(mapResult(next.result, args.contextValue));
          },
        };
      },
      onSubscribeError: ({ error, setError }) =>
        setError(mapAndLog(error, requestIdOf(args.contextValue), log)),
    }),
    // What failed around the execution (context, parameters) was mapped by yoga's maskError without its id.
    onResultProcess: ({ result, serverContext }) => {
      if (!('errors' in result)) return;
      for (const error of result.errors ?? []) mapAndLog(error, requestIdOf(serverContext), log);
    },
  };
}

function isStream(result: object): result is AsyncIterable<unknown> {
  return Symbol.asyncIterator in result;
}

function requestIdOf(context: unknown): string {
  const id =
    typeof context === 'object' && context !== null
      ? (context as { requestId?: unknown }).requestId
      : undefined;
  return typeof id === 'string' ? id : 'unknown';
}
