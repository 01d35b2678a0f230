/**
 * Executes queries and mutations by the rules that all transports share:
 *
 *   guard ─▶ graphql ─▶ errors by the table ─▶ a line in the log
 *
 * graphql-js executes them: yoga's own executor returns fields in the order in which they were resolved, and
 * clients may rely on the query's order, as the specification says.
 */
import type { ExecutionArgs, ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql';
import { execute } from 'graphql';
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
import { mapAllAndLog, mapAndLog, mapResult, type ErrorLog } from './maskErrors.ts';
import { createPlainLists } from './plainLists.ts';
import { createSharedSubscribe } from './sharedEvents.ts';
import type { TransportContext } from './transportContext.ts';

export interface Operations {
  /** Executes a validated document. */
  execute(args: ExecutionArgs): Promise<ExecutionResult>;
  /** Executes a validated document that is kept; the answer may hold ReadyJson. */
  executeKept(args: ExecutionArgs): Promise<ExecutionResult>;
  /** The events of a subscription, or its refusal. */
  subscribe: Subscribe;
  /** Maps and logs why a request does not become an operation. @returns the errors of its answer */
  refuse(causes: readonly unknown[], context: TransportContext): readonly GraphQLError[];
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
    refuse(causes, context) {
      const errors = mapAllAndLog(causes, context.requestId, log);
      operationLog.logRefusal(context, errors);
      return errors;
    },
  };
}

interface Conclusion {
  args: ExecutionArgs;
  requestId: string;
  log: ErrorLog;
  operationLog: OperationLog;
}

/** A subscription's events, with errors by the error table. The subscription is logged when it ends. */
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
    // The stream ends: a client that goes on would miss this event, because the next event's cursor is behind
    // it. A failure to stop the source is ignored, because it does not concern the client.
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

/** Whether an event with errors lacks its field, the only one of a subscription. */
function hasFailed({ data }: ExecutionResult): boolean {
  return data == null || Object.values(data).includes(null);
}
