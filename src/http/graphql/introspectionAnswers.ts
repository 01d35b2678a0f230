/**
 * Answers to introspection, made once for each document: the schema does not change while the server runs.
 */
import type { DocumentNode, ExecutionArgs, ExecutionResult } from 'graphql';
import type { PullStream } from '../../lib/pullStream.ts';
import type { RootField } from './rootFields.ts';

/** The events of a subscription, or the one answer. */
export type Result = ExecutionResult | PullStream<ExecutionResult>;

interface IntrospectionAnswers {
  /** Runs the operation, or gives the answer of the same one before. What has variables is run each time. */
  answer(args: ExecutionArgs, run: (args: ExecutionArgs) => Result | Promise<Result>): Promise<Result>;
}

/** The few documents that tools send. Each answer takes megabytes, so a stranger's documents must not pile up. */
const MAX_KEPT = 4;

export function isIntrospection(roots: readonly RootField[]): boolean {
  return roots.some(({ name }) => name !== '__typename') && roots.every(({ name }) => name.startsWith('__'));
}

export function createIntrospectionAnswers(): IntrospectionAnswers {
  /** The one that was asked for last is at the end. */
  const kept = new Map<DocumentNode, { operationName: string; result: Result }>();
  return {
    async answer(args, run) {
      const { document, variableValues, operationName: named } = args;
      const operationName = named ?? '';
      const before = kept.get(document);
      if (Object.keys(variableValues ?? {}).length > 0) return run(args);
      const result = before?.operationName === operationName ? before.result : await run(args);
      kept.delete(document);
      kept.set(document, { operationName, result });
      for (const oldest of kept.keys()) {
        if (kept.size <= MAX_KEPT) break;
        kept.delete(oldest);
      }
      return result;
    },
  };
}
