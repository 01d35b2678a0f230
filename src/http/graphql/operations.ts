/**
 * Executes queries and mutations by the rules that all transports share:
 *
 *   guard ─▶ graphql ─▶ errors by the table ─▶ a line in the log
 *
 * Executed by graphql itself: yoga's own executor gives fields in the order in which they became known, and clients may
 * rely on the query's order, as the specification says.
 */
import type { ExecutionArgs, ExecutionResult, GraphQLSchema } from 'graphql';
import { execute } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { MappedStream, type PullStream } from '../../lib/pullStream.ts';
import type { Context } from '../../schema/core/context.ts';
import {
  isStream,
  runGuarded,
  subscribeGuarded,
  type OperationGuard,
  type Subscribe,
} from './guardOperations.ts';
import type { OperationLog } from './logOperations.ts';
import { mapAndLog, mapResult, useErrorTable, type ErrorLog } from './maskErrors.ts';
import { createPlainLists } from './plainLists.ts';
import { createSharedSubscribe } from './sharedEvents.ts';
import type { TransportContext } from './transportContext.ts';

interface Operations {
  /** Of a validated document. */
  execute(args: ExecutionArgs): Promise<ExecutionResult>;
  /** The same for one that is kept; the answer may hold ReadyJson. */
  executeKept(args: ExecutionArgs): Promise<ExecutionResult>;
  /** The events of a subscription, or its refusal. */
  subscribe: Subscribe;
  /** For envelop: the same. */
  plugins: Plugin<object, TransportContext>[];
}

export function createOperations(options: {
  schema: GraphQLSchema;
  guard: OperationGuard;
  operationLog: OperationLog;
  log: ErrorLog;
}): Operations {
  const { schema, guard, operationLog, log } = options;
  const requestIdOf = ({ contextValue }: ExecutionArgs) =>
    (contextValue as TransportContext & Context<unknown>).requestId;
  const concluded = (args: ExecutionArgs, answer: ExecutionResult): ExecutionResult => {
    const result = mapResult(answer, requestIdOf(args), log);
    operationLog.logResult(args, result);
    return result;
  };
  const executeByRules = async (
    args: ExecutionArgs,
    run: (args: ExecutionArgs) => ExecutionResult | Promise<ExecutionResult>,
  ): Promise<ExecutionResult> => concluded(args, await runGuarded(guard, args, run));
  const executePlain = createPlainLists(schema);
  const subscribeShared = createSharedSubscribe(guard.rateLimits);
  const subscribe: Subscribe = async (args) => {
    const result = await subscribeGuarded(guard, args, subscribeShared);
    if (!isStream(result)) return concluded(args, result);
    return new ConcludedEvents(result, { args, requestId: requestIdOf(args), log, operationLog });
  };
  return {
    subscribe,
    execute: (args) => executeByRules(args, execute),
    executeKept: (args) => executeByRules(args, executePlain),
    plugins: [
      {
        onExecute: ({ setExecuteFn }) => setExecuteFn((args: ExecutionArgs) => executeByRules(args, execute)),
        onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe),
      },
      useErrorTable(log),
      operationLog.plugin,
    ],
  };
}

interface Conclusion {
  args: ExecutionArgs;
  requestId: string;
  log: ErrorLog;
  operationLog: OperationLog;
}

/** A subscription's events with errors by the table; it is logged when it ends. */
class ConcludedEvents extends MappedStream<ExecutionResult, ExecutionResult> {
  private readonly conclusion: Conclusion;
  private events = 0;

  constructor(results: PullStream<ExecutionResult>, conclusion: Conclusion) {
    super(results);
    this.conclusion = conclusion;
  }

  protected map(event: ExecutionResult): ExecutionResult {
    this.events += 1;
    if (event.errors === undefined) return event;
    // A client that went on would leave it out: the next event's cursor is behind it. Whether the source can stop is no matter of
    // the client's.
    if (hasFailed(event)) this.source.return().catch(() => undefined);
    return mapResult(event, this.conclusion.requestId, this.conclusion.log);
  }

  protected override shownError(thrown: unknown): unknown {
    return mapAndLog(thrown, this.conclusion.requestId, this.conclusion.log);
  }

  protected override ended(): void {
    this.conclusion.operationLog.logResult(this.conclusion.args, {}, this.events);
  }
}

/** Of an event with errors: its field, the only one of a subscription, is not there. */
function hasFailed({ data }: ExecutionResult): boolean {
  return data == null || Object.values(data).includes(null);
}
