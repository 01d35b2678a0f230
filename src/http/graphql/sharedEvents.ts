/**
 * Executes an event once for all subscriptions with the same document, operation, variables and caller. Each
 * subscription's own source decides whether its caller may subscribe, and to what.
 *
 *   each subscriber's source ─▶ event (one object for all) ─▶ executed for the first ─▶ same result to each
 */
import type { DocumentNode, ExecutionArgs, ExecutionResult } from 'graphql';
import { createSourceEventStream, execute } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../../identity/roles.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { createConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import { yieldToEventLoop } from '../../lib/yieldToEventLoop.ts';
import { MappedStream, pullStreamOf, type PullStream } from '../../lib/pullStream.ts';
import { measureAnswer } from '../../limits/measureAnswer.ts';
import { stopwatch } from './chargeCpu.ts';
import type { Subscribe } from './guardOperations.ts';
import type { TransportContext } from './transportContext.ts';
import { getOrMake } from '../../lib/getOrMake.ts';

/** Results of one event since a time, by question. */
interface Results {
  sinceMs: number;
  byQuestion: Map<string, ExecutionResult | FirstExecution>;
}

/**
 * Maximum events with shared results. Subscribers read an event at nearly the same time, or are some events
 * behind.
 */
const MAX_EVENTS = 64;
/**
 * How long a result is shared. An event may be replayed hours later, when other rows that it shows have
 * changed, such as a project or the proof in a log.
 */
const SHARED_MS = 2_000;
/**
 * Maximum number of questions kept for one event. Further questions are executed separately. A kept result
 * and its text have SHARED_BYTES each at most.
 */
const MAX_QUESTIONS = 100;
const SHARED_BYTES = 16 * 1024;
/**
 * Events that are executed at a time. An event may take some statements, and one address may replay the feed
 * in thousands of subscriptions: events of other addresses must not wait behind all of them. The queue has no
 * limit, because each waiting event belongs to a subscription and subscriptions are limited. A subscription
 * whose event waits longer ends, and its client resumes.
 */
const PLACES = { maxConcurrent: 100, maxPerKey: 4, maxWaiting: Infinity, waitMs: 60_000 };
/**
 * Maximum size of an event's answer. Clients query larger data when an event says that the data has changed.
 */
const MAX_EVENT_BYTES = 1024 * 1024;

/** Limits on the computing time of events, which run without a request of their own. */
export interface EventLimits {
  /** @throws DomainError RATE_LIMITED when the address has used up its computing time */
  requireCpu(remoteAddress: string): void;
  chargeCpu(remoteAddress: string, ms: number): void;
}

/** Create one for each server, whose schema and dependencies are the same for all subscriptions. */
export function createSharedSubscribe(
  limits: EventLimits,
  nowMs: () => number = () => performance.now(),
): Subscribe {
  const { executeEvent, isKept } = createExecution(limits);
  /**
   * Results by event, then by question. Bounded, because events themselves are kept for later subscribers.
   */
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
  const resultOf: Shared['resultOf'] = (args, question, event) => {
    const results = typeof event === 'object' && event !== null ? resultsOf(event) : undefined;
    const before = results?.get(question);
    if (before !== undefined) return before;
    const first = executeEvent(args, event);
    if (results === undefined || results.size >= MAX_QUESTIONS) return first;
    if (first instanceof Promise) void runForAll(first, { question, event, results, isKept });
    else if (isKept(first)) results.set(question, first);
    return first;
  };
  return async (args) => {
    const source = await createSourceEventStream(args);
    if (!(Symbol.asyncIterator in source)) return source;
    return new SharedResults(pullStreamOf(source), args, questionOf(args, nameOf), {
      executeEvent,
      resultOf,
    });
  };
}

interface Shared {
  executeEvent(args: ExecutionArgs, event: unknown): ExecutionResult | Promise<ExecutionResult>;
  resultOf(
    args: ExecutionArgs,
    question: string,
    event: unknown,
  ): ExecutionResult | Promise<ExecutionResult> | FirstExecution;
}

/** The first execution of a question. Those who ask the same meanwhile follow, without a promise for each. */
class FirstExecution {
  readonly followers: SharedResults[] = [];
}

interface ToShare {
  question: string;
  event: unknown;
  results: Results['byQuestion'];
  isKept: IsKept;
}

async function runForAll(
  first: Promise<ExecutionResult>,
  { question, event, results, isKept }: ToShare,
): Promise<void> {
  const execution = new FirstExecution();
  results.set(question, execution);
  const result = await first.catch(() => null);
  if (result !== null && isKept(result)) results.set(question, result);
  else results.delete(question);
  for (const follower of execution.followers) follower.follow(result, event);
}

/** One subscription. */
class SharedResults extends MappedStream<unknown, ExecutionResult> {
  private readonly args: ExecutionArgs;
  private readonly question: string;
  private readonly shared: Shared;

  constructor(events: PullStream<unknown>, args: ExecutionArgs, question: string, shared: Shared) {
    super(events);
    this.args = args;
    this.question = question;
    this.shared = shared;
  }

  /** A failure concerns the first request alone, so the event is executed again for this subscription. */
  follow(first: ExecutionResult | null, event: unknown): void {
    if (first === null || first.errors !== undefined) this.deliver(this.execute, event);
    else this.give(first);
  }

  protected map(event: unknown): ExecutionResult | Promise<ExecutionResult> | undefined {
    const result = this.shared.resultOf(this.args, this.question, event);
    if (!(result instanceof FirstExecution)) return result;
    result.followers.push(this);
    return undefined;
  }

  private execute(event: unknown): ExecutionResult | Promise<ExecutionResult> {
    return this.shared.executeEvent(this.args, event);
  }
}

/**
 * Whether a result is kept: no failure, and no large result, which would stay until MAX_EVENTS more events
 * have come.
 */
type IsKept = (result: ExecutionResult) => boolean;

/** An event computes like a request, and is answered at once, but has not passed the gate. */
function createExecution({ requireCpu, chargeCpu }: EventLimits) {
  const kept = new WeakSet<ExecutionResult>();
  const places = createConcurrencyLimit(PLACES);
  const bounded = (result: ExecutionResult): ExecutionResult => {
    const isSmall = measureAnswer(result.data, MAX_EVENT_BYTES) <= SHARED_BYTES;
    if (isSmall && result.errors === undefined) kept.add(result);
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
    isKept: ((result) => kept.has(result)) satisfies IsKept,
    executeEvent(argsOfAll: ExecutionArgs, event: unknown): ExecutionResult | Promise<ExecutionResult> {
      const args = { ...argsOfAll, rootValue: event };
      const pause = yieldToEventLoop();
      return pause === null ? runInPlace(args) : pause.then(() => runInPlace(args));
    },
  };
}

/** Calls `end` after `run`. Most events need no further data: their result is known at once. */
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

/** Numbers documents. Equal texts are the same document, because parsed documents are kept. */
function createNames(): (document: DocumentNode) => number {
  const names = new WeakMap<DocumentNode, number>();
  let last = 0;
  return (document) => getOrMake(names, document, () => (last += 1));
}
