/**
 * One line in the log for each operation, with nothing secret or personal in it.
 */
import type { DocumentNode, ExecutionArgs, ExecutionResult } from 'graphql';
import { getOperationAST } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { Context } from '../schema/context.ts';
import { describeDocument, describeVariables } from './describeOperation.ts';
import { rootFields } from './rootFields.ts';
import type { TransportContext } from './transportContext.ts';

export type OperationLogger = Pick<Logger, 'info' | 'debug' | 'isLevelEnabled'>;

/** Long enough to be recognised by. */
const MAX_NAME_CHARACTERS = 64;

export interface OperationLog {
  plugin: Plugin<object, TransportContext>;
  /** For what was refused before it could become an operation. Logs nothing that has its line already. */
  logRefusal(context: TransportContext, errors: ExecutionResult['errors']): void;
}

export function createOperationLog(log: OperationLogger, clock: Clock): OperationLog {
  const write = (context: TransportContext, about: object, outcome: string) => {
    const { trace, requestId, remoteAddress, transport, caller } = context;
    if (trace.isLogged) return;
    trace.isLogged = true;
    const line = {
      ...about,
      outcome,
      caller: caller?.subject ?? null,
      ...(caller?.apiKeyId == null ? {} : { apiKeyId: caller.apiKeyId }),
      durationMs: clock.now().getTime() - trace.startedAtMs,
      requestId,
      transport,
      remoteAddress,
      ...(trace.cost === undefined ? {} : { cost: trace.cost }),
    };
    // A flood must not become a flood of lines.
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
            // One that lasts is told when it is over.
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
  return {
    operation: operation.name?.value.slice(0, MAX_NAME_CHARACTERS) ?? null,
    type: operation.operation,
    fields: [...new Set(rootFields(args.document, operation).map(({ name }) => name))].slice(
      0,
      MAX_LOGGED_FIELDS,
    ),
    ...(log.isLevelEnabled('debug') ? details(args.document, args.variableValues) : {}),
  };
}

const MAX_LOGGED_FIELDS = 10;

function details(document: DocumentNode, variables: unknown): object {
  return { query: describeDocument(document), variables: describeVariables(variables) };
}
