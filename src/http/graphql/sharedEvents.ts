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
import { addressKey } from '../../lib/addressKey.ts';
import { createConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import { pauseInLongTurn } from '../../lib/longTurns.ts';
import { mapPull, pullStreamOf } from '../../lib/pullStream.ts';
import { measureAnswer } from '../../limits/measureAnswer.ts';
import { stopwatch } from './chargeCpu.ts';
import type { Subscribe } from './guardOperations.ts';
import type { TransportContext } from './transportContext.ts';

/** What was asked of one event since a time: a promise until it is known. */
interface Results {
  sinceMs: number;
  byQuestion: Map<string, ExecutionResult | Promise<ExecutionResult>>;
}

/** Subscribers read an event within moments of each other; those that catch up are some events behind. */
const MAX_EVENTS = 64;
/** An event may be replayed hours later, when what its fields say of other rows has changed: a project, the proof in a log. */
const SHARED_MS = 2_000;
/** Of each event; what more is asked is executed for itself. A result that is kept, and its text, have SHARED_BYTES each at most. */
const MAX_QUESTIONS = 100;
const SHARED_BYTES = 16 * 1024;
/**
 * Events that are executed at a time. What an event is asked for may take some statements, and an address may replay the feed in
 * thousands of subscriptions: as with queries, those of others must not wait behind all of them. Each that waits is a subscription,
 * which are limited; one that waits for longer ends, and its client resumes.
 */
const PLACES = { maxConcurrent: 100, maxPerKey: 4, maxWaiting: Infinity, waitMs: 60_000 };
/** What is larger is asked for by a query, when the event says that it has changed. */
const MAX_EVENT_BYTES = 1024 * 1024;

/** What events may take, which run without a request of their own. */
export interface EventLimits {
  /** @throws DomainError RATE_LIMITED when the address has used up its computing time */
  requireCpu(remoteAddress: string): void;
  chargeCpu(remoteAddress: string, ms: number): void;
}

/** For one server: its schema and its dependencies are the same for all subscriptions. */
export function createSharedSubscribe(
  limits: EventLimits,
  nowMs: () => number = () => performance.now(),
): Subscribe {
  const { executeEvent, isSmall } = createExecution(limits);
  /** By event, then by what is asked of it. Bounded, because events themselves are kept for those who come later. */
  const shared = new LRUCache<object, Results>({ max: MAX_EVENTS });
  const nameOf = createNames();
  const resultsOf = (event: object): Results['byQuestion'] => {
    const now = nowMs();
    const kept = shared.get(event);
    if (kept !== undefined && now - kept.sinceMs <= SHARED_MS) return kept.byQuestion;
    const fresh: Results = { sinceMs: now, byQuestion: new Map() };
    shared.set(event, fresh);
    return fresh.byQuestion;
  };
  const resultOf = (args: ExecutionArgs, question: string, event: unknown) => {
    const own = () => executeEvent({ ...args, rootValue: event });
    if (typeof event !== 'object' || event === null) return own();
    const results = resultsOf(event);
    const before = results.get(question);
    if (before !== undefined) {
      const ownIfFailed = (result: ExecutionResult) => (result.errors === undefined ? result : own());
      return before instanceof Promise ? before.then(ownIfFailed, own) : ownIfFailed(before);
    }
    const first = own();
    if (results.size >= MAX_QUESTIONS) return first;
    if (first instanceof Promise) {
      results.set(question, first);
      void noteResult(results, question, first, isSmall);
    } else if (isSmall(first)) results.set(question, first);
    return first;
  };
  return async (args) => {
    const source = await createSourceEventStream(args);
    if (!isStream(source)) return source;
    const question = questionOf(args, nameOf);
    return mapPull(pullStreamOf(source), { value: (event) => resultOf(args, question, event) });
  };
}

/** A large one would be kept until as many events have come since; a failure is of the first one's request alone. */
async function noteResult(
  results: Results['byQuestion'],
  question: string,
  first: Promise<ExecutionResult>,
  isSmall: (result: ExecutionResult) => boolean,
): Promise<void> {
  const result = await first.catch(() => null);
  if (result !== null && isSmall(result)) results.set(question, result);
  else results.delete(question);
}

/** Each event of a subscription computes like a request, and is answered at once, but no gate has let it in. */
function createExecution({ requireCpu, chargeCpu }: EventLimits) {
  const small = new WeakSet<ExecutionResult>();
  const places = createConcurrencyLimit(PLACES);
  const bounded = (result: ExecutionResult): ExecutionResult => {
    if (measureAnswer(result.data, MAX_EVENT_BYTES) <= SHARED_BYTES) small.add(result);
    return result;
  };
  const run = (args: ExecutionArgs, remoteAddress: string) => {
    requireCpu(remoteAddress);
    const elapsed = stopwatch();
    const result = execute(args);
    const limited = result instanceof Promise ? result.then(bounded) : bounded(result);
    chargeCpu(remoteAddress, elapsed());
    return limited;
  };
  const runInPlace = (args: ExecutionArgs) => {
    const { remoteAddress } = args.contextValue as TransportContext;
    const key = addressKey(remoteAddress);
    const begin = (giveBack: () => void) => endWith(giveBack, () => run(args, remoteAddress));
    const free = places.takeFree(key);
    return free === null ? places.take(key).then(begin) : begin(free);
  };
  return {
    isSmall: (result: ExecutionResult) => small.has(result),
    executeEvent(args: ExecutionArgs): ExecutionResult | Promise<ExecutionResult> {
      const pause = pauseInLongTurn();
      return pause === null ? runInPlace(args) : pause.then(() => runInPlace(args));
    },
  };
}

/** Most events need nothing but themselves: their result is known at once. */
function endWith<T>(end: () => void, run: () => T | Promise<T>): T | Promise<T> {
  let result: T | Promise<T> | undefined;
  try {
    result = run();
    return result instanceof Promise ? result.finally(end) : result;
  } finally {
    if (!(result instanceof Promise)) end();
  }
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
