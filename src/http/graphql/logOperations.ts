/**
 * Logs one line for each operation, without secret or personal data.
 */
import type { ExecutionArgs, ExecutionResult } from 'graphql';
import { getOperationAST } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Context } from '../../schema/core/context.ts';
import { describeDocument, describeVariables, shownNames } from './describeOperation.ts';
import { rootFields } from './rootFields.ts';
import type { TransportContext } from './transportContext.ts';

export type OperationLogger = Pick<Logger, 'info' | 'debug' | 'isLevelEnabled'>;

/** Enough to recognise a name. */
const MAX_NAME_CHARACTERS = 64;

interface OperationLog {
  plugin: Plugin<object, TransportContext>;
  /** Logs a request that was refused before it became an operation, unless its line is already logged. */
  logRefusal(context: TransportContext, errors: ExecutionResult['errors']): void;
}

export function createOperationLog(log: OperationLogger, clock: Clock): OperationLog {
  const write = (context: TransportContext, about: object, outcome: string) => {
    const { trace, requestId, clientRequestId, remoteAddress, transport, caller } = context;
    if (trace.isLogged) return;
    trace.isLogged = true;
    const line = {
      ...about,
      outcome,
      caller: caller?.subject ?? null,
      ...(caller?.apiKeyId == null ? {} : { apiKeyId: caller.apiKeyId }),
      durationMs: clock.now().getTime() - trace.startedAtMs,
      requestId,
      ...(clientRequestId === undefined ? {} : { clientRequestId }),
      transport,
      remoteAddress,
      ...(trace.cost === undefined ? {} : { cost: trace.cost }),
    };
    // A flood of requests must not flood the log.
    if (outcome === 'RATE_LIMITED') log.debug(line, 'operation');
    else log.info(line, 'operation');
  };
  const writeResult = (args: ExecutionArgs, result: ExecutionResult, more: object = {}) =>
    write(
      args.contextValue as TransportContext & Context<unknown>,
      { ...aboutOperation(args, log), ...more },
      outcomeOf(result.errors),
    );
  return {
    plugin: {
      onExecute: () => ({
        onExecuteDone: ({ args, result }) => {
          if (!(Symbol.asyncIterator in result)) writeResult(args, result);
        },
      }),
      onSubscribe: () => ({
        onSubscribeResult: ({ args, result }) => {
          if (!(Symbol.asyncIterator in result)) {
            writeResult(args, result);
            return undefined;
          }
          let events = 0;
          return {
            onNext: () => {
              events += 1;
            },
            // A stream is logged when it ends.
            onEnd: () => writeResult(args, {}, { events }),
          };
        },
      }),
      onResultProcess: ({ result, serverContext }) => {
        if ('errors' in result) write(serverContext, {}, outcomeOf(result.errors));
      },
    },
    logRefusal: (context, errors) => write(context, {}, outcomeOf(errors)),
  };
}

function outcomeOf(errors: ExecutionResult['errors']): string {
  const [first] = errors ?? [];
  return first === undefined ? 'OK' : String(first.extensions['code']);
}

function aboutOperation(args: ExecutionArgs, log: OperationLogger): object {
  const operation = getOperationAST(args.document, args.operationName);
  if (operation == null) return {};
  const fields = [...new Set(rootFields(args.document, operation).map(({ name }) => name))];
  return {
    operation: operation.name?.value.slice(0, MAX_NAME_CHARACTERS) ?? null,
    type: operation.operation,
    fields: fields.slice(0, MAX_LOGGED_FIELDS),
    ...(log.isLevelEnabled('debug')
      ? details(args, shownNames(args.schema, operation.operation, fields))
      : {}),
  };
}

const MAX_LOGGED_FIELDS = 10;

function details({ document, variableValues }: ExecutionArgs, shown: ReadonlySet<string>): object {
  return { query: describeDocument(document), variables: describeVariables(variableValues, shown) };
}
