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
import type { Context } from '../../schema/core/context.ts';
import { runGuarded, useOperationGuard, type OperationGuard } from './guardOperations.ts';
import type { OperationLog } from './logOperations.ts';
import { mapResult, useErrorTable, type ErrorLog } from './maskErrors.ts';
import { createPlainLists } from './plainLists.ts';
import { createSharedSubscribe } from './sharedEvents.ts';
import type { TransportContext } from './transportContext.ts';

export interface Operations {
  /** Of a validated document. */
  execute(args: ExecutionArgs): Promise<ExecutionResult>;
  /** The same for one that is kept; the answer may hold ReadyJson. */
  executeKept(args: ExecutionArgs): Promise<ExecutionResult>;
  /** For envelop: the same, and subscriptions. */
  plugins: Plugin<object, TransportContext>[];
}

export function createOperations(options: {
  schema: GraphQLSchema;
  guard: OperationGuard;
  operationLog: OperationLog;
  log: ErrorLog;
}): Operations {
  const { schema, guard, operationLog, log } = options;
  const executeByRules = async (
    args: ExecutionArgs,
    run: (args: ExecutionArgs) => ExecutionResult | Promise<ExecutionResult>,
  ): Promise<ExecutionResult> => {
    const { requestId } = args.contextValue as TransportContext & Context<unknown>;
    const result = mapResult(await runGuarded(guard, args, run), requestId, log);
    operationLog.logResult(args, result);
    return result;
  };
  const executePlain = createPlainLists(schema);
  const subscribe = createSharedSubscribe();
  return {
    execute: (args) => executeByRules(args, execute),
    executeKept: (args) => executeByRules(args, executePlain),
    plugins: [
      {
        onExecute: ({ setExecuteFn }) => setExecuteFn((args: ExecutionArgs) => executeByRules(args, execute)),
        onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe),
      },
      useOperationGuard(guard),
      useErrorTable(log),
      operationLog.plugin,
    ],
  };
}
