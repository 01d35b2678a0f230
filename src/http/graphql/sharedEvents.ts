/**
 * Subscriptions whose events are executed once for all that ask for the same: the same document, operation and
 * variables, as the same caller. Whether a caller may subscribe, and to what, each subscription's own source decides.
 *
 *   source of each subscriber ─▶ event (one object for all) ─▶ executed for the first ─▶ the same result to each
 */
import type { DocumentNode, ExecutionArgs, ExecutionResult } from 'graphql';
import { createSourceEventStream, execute } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../../identity/roles.ts';
import { mapPull, pullStreamOf } from '../../lib/pullStream.ts';
import type { Subscribe } from './guardOperations.ts';

/** A promise until it is known. */
type Results = Map<string, ExecutionResult | Promise<ExecutionResult>>;

/** Subscribers read an event within moments of each other; those that catch up are some events behind. */
const MAX_EVENTS = 64;
/** Of each event; what more is asked is executed for itself. A result and its text have a few kilobytes. */
const MAX_QUESTIONS = 100;

/** For one server: its schema and its dependencies are the same for all subscriptions. */
export function createSharedSubscribe(): Subscribe {
  /** By event, then by what is asked of it. Bounded, because events themselves are kept for those who come later. */
  const shared = new LRUCache<object, Results>({ max: MAX_EVENTS });
  const nameOf = createNames();
  const resultOf = (args: ExecutionArgs, question: string, event: unknown) => {
    const own = () => execute({ ...args, rootValue: event });
    if (typeof event !== 'object' || event === null) return own();
    const results: Results = shared.get(event) ?? new Map();
    if (results.size === 0) shared.set(event, results);
    const before = results.get(question);
    if (before !== undefined) {
      const ownIfFailed = (result: ExecutionResult) => (result.errors === undefined ? result : own());
      return before instanceof Promise ? before.then(ownIfFailed) : ownIfFailed(before);
    }
    const first = own();
    if (results.size >= MAX_QUESTIONS) return first;
    results.set(question, first);
    if (first instanceof Promise) void noteResult(results, question, first);
    return first;
  };
  return async (args) => {
    const source = await createSourceEventStream(args);
    if (!isStream(source)) return source;
    const question = questionOf(args, nameOf);
    return mapPull(pullStreamOf(source), { value: (event) => resultOf(args, question, event) });
  };
}

async function noteResult(
  results: Results,
  question: string,
  first: Promise<ExecutionResult>,
): Promise<void> {
  // Those who have it already get the failure.
  const result = await first.catch(() => null);
  if (result !== null) results.set(question, result);
}

function questionOf(args: ExecutionArgs, nameOf: (document: DocumentNode) => number): string {
  const { caller } = args.contextValue as { caller?: Caller | null };
  const { document, operationName = null, variableValues = {} } = args;
  return JSON.stringify([nameOf(document), operationName, variableValues, caller ?? null]);
}

/** A number for each document; equal texts are one document, because parsed documents are kept. */
function createNames(): (document: DocumentNode) => number {
  const names = new WeakMap<DocumentNode, number>();
  let last = 0;
  return (document) => {
    const name = names.get(document) ?? (last += 1);
    names.set(document, name);
    return name;
  };
}

function isStream(result: object): result is AsyncIterable<unknown> {
  return Symbol.asyncIterator in result;
}
