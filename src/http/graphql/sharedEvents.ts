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

type Results = Map<string, Promise<ExecutionResult>>;

/** Subscribers read an event within moments of each other; those that catch up are some events behind. */
const MAX_EVENTS = 64;
/** Of each event; what more is asked is executed for itself. A result and its text have a few kilobytes. */
const MAX_QUESTIONS = 100;

type Subscribe = (args: ExecutionArgs) => Promise<AsyncIterable<ExecutionResult> | ExecutionResult>;

/** For one server: its schema and its dependencies are the same for all subscriptions. */
export function createSharedSubscribe(): Subscribe {
  /** By event, then by what is asked of it. Bounded, because events themselves are kept for those who come later. */
  const shared = new LRUCache<object, Results>({ max: MAX_EVENTS });
  const nameOf = createNames();
  const resultOf = (args: ExecutionArgs, question: string, event: unknown) => {
    const own = async () => execute({ ...args, rootValue: event });
    if (typeof event !== 'object' || event === null) return own();
    const results = shared.get(event) ?? new Map<string, Promise<ExecutionResult>>();
    if (results.size === 0) shared.set(event, results);
    const before = results.get(question);
    if (before !== undefined) return before.then((result) => (result.errors === undefined ? result : own()));
    const first = own();
    if (results.size < MAX_QUESTIONS) results.set(question, first);
    return first;
  };
  return async (args) => {
    const source = await createSourceEventStream(args);
    if (!isStream(source)) return source;
    const question = questionOf(args, nameOf);
    return mapStream(source, (event) => resultOf(args, question, event));
  };
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

/** `return` reaches the source while its `next` is pending, as in graphql's own subscriptions. */
function mapStream(
  source: AsyncIterable<unknown>,
  map: (event: unknown) => Promise<ExecutionResult>,
): AsyncIterableIterator<ExecutionResult> {
  const iterator = source[Symbol.asyncIterator]();
  const finished = { done: true, value: undefined } as const;
  const end = async () => {
    await iterator.return?.();
    return finished;
  };
  const stream: AsyncIterableIterator<ExecutionResult> = {
    async next() {
      const step = await iterator.next();
      if (step.done === true) return finished;
      try {
        return { done: false, value: await map(step.value) };
      } catch (error) {
        await end();
        throw error;
      }
    },
    return: end,
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}

function isStream(result: object): result is AsyncIterable<unknown> {
  return Symbol.asyncIterator in result;
}
