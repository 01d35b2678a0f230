/**
 * Answers to introspection, made once for each document: the schema does not change while the server runs.
 */
import type { DocumentNode, ExecutionArgs, ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { PullStream } from '../../lib/pullStream.ts';
import type { RootField } from './rootFields.ts';

/** The events of a subscription, or the one answer. */
export type Result = ExecutionResult | PullStream<ExecutionResult>;

export type Run = (args: ExecutionArgs) => Result | Promise<Result>;

/**
 * Tools send only a few documents. Each answer takes megabytes, so documents of unknown clients must not
 * accumulate.
 */
const MAX_KEPT = 4;

export function isIntrospection(roots: readonly RootField[]): boolean {
  return roots.some(({ name }) => name !== '__typename') && roots.every(({ name }) => name.startsWith('__'));
}

const kept = new LRUCache<DocumentNode, { operationName: string; result: Result }>({ max: MAX_KEPT });

/**
 * Runs the operation, or returns the kept answer of the same document and operation. With variables, it runs
 * each time.
 */
export async function answerIntrospection(args: ExecutionArgs, run: Run): Promise<Result> {
  const { document, variableValues, operationName: named } = args;
  const operationName = named ?? '';
  if (Object.keys(variableValues ?? {}).length > 0) return run(args);
  const before = kept.get(document);
  const result = before?.operationName === operationName ? before.result : await run(args);
  kept.set(document, { operationName, result });
  return result;
}
