/**
 * Checks every operation between its validation and its resolvers, on every transport:
 *
 *   variables valid? ─▶ cost in limit? ─▶ mutations: budget left? ─▶ below limit? ─▶ runs ─▶ cost reported
 *
 * A refusal is an answer with errors, never an exception, because an exception would end a websocket.
 */
import type { ExecutionArgs, ExecutionResult, OperationDefinitionNode } from 'graphql';
import { getOperationAST, getVariableValues, OperationTypeNode } from 'graphql';
import { DomainError } from '../../lib/errors.ts';
import type { CredentialEnds } from '../../identity/credentialEnds.ts';
import { addressKey } from '../../lib/addressKey.ts';
import type { Counters } from '../../limits/counters.ts';
import { requireVariablesWithinLimits } from '../../limits/documentLimits.ts';
import type { OperationLimits } from '../../limits/operationCost.ts';
import type { RateLimits } from '../../limits/rateLimits.ts';
import { overloaded, type ConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import { yieldToEventLoop } from '../../lib/yieldToEventLoop.ts';
import type { PullStream } from '../../lib/pullStream.ts';
import { forgetScopes } from '../../schema/core/auth.ts';
import type { Context } from '../../schema/core/context.ts';
import { beginReads, writeReads } from './auditReads.ts';
import { ERROR_MS, stopwatch } from './chargeCpu.ts';
import { EndingStream } from './endingStream.ts';
import { toClientError } from './errors.ts';
import { placeInput } from './inputPaths.ts';
import type { LimitAnswer } from './answerLimits.ts';
import { answerIntrospection, isIntrospection, type Result, type Run } from './introspectionAnswers.ts';
import type { FindFacts } from './operationFacts.ts';
import type { RootField } from './rootFields.ts';
import type { TransportContext } from './transportContext.ts';

export interface OperationGuard {
  limits: OperationLimits;
  factsOf: FindFacts;
  rateLimits: RateLimits;
  /**
   * Mutations wait for the network, so they have their own limit. The first run of a query, which computes
   * longest, takes a place in both `queries` and `firstQueries`.
   */
  concurrency: { queries: ConcurrencyLimit; firstQueries: ConcurrencyLimit; mutations: ConcurrencyLimit };
  /** Open subscriptions, by address. */
  subscriptions: Counters;
  limitAnswer: LimitAnswer;
  credentialEnds: CredentialEnds;
  /** Whether errors about unknown names leave out similar names. */
  hideSuggestions: boolean;
}

/** Runs a subscription. Resolves to its events or refusal. */
export type Subscribe = (args: ExecutionArgs) => Promise<Result>;
type GuardedContext = Context<unknown> & TransportContext;

/** Maximum errors about one set of variables, as in graphql-js. */
const MAX_VARIABLE_ERRORS = 50;

/** Computing time of a client's largest operation, with all its variables, until it first waits. */
const ORDINARY_MS = 2;
/** A longer first run waits for the network and does not compute, so the next one begins. */
const FIRST_RUN_MS = 250;

/** Runs a query or mutation. Resolves to its answer or refusal. */
export function runGuarded(
  guard: OperationGuard,
  args: ExecutionArgs,
  run: (args: ExecutionArgs) => ExecutionResult | Promise<ExecutionResult>,
): Promise<ExecutionResult> {
  return guarded(guard, args, run) as Promise<ExecutionResult>;
}

/** Runs a subscription. Resolves to its events or refusal. */
export function subscribeGuarded(
  guard: OperationGuard,
  args: ExecutionArgs,
  run: Subscribe,
): Promise<Result> {
  return guarded(guard, args, (checked) => subscribe(guard, checked, run));
}

async function guarded(guard: OperationGuard, args: ExecutionArgs, run: Run): Promise<Result> {
  const operation = getOperationAST(args.document, args.operationName);
  // The operation is ambiguous or missing: the executor returns the error.
  if (operation == null) return run(args);
  try {
    return await runWhenAdmitted(guard, args, operation, run);
  } catch (error) {
    // Defects are answered, too: the error table logs them, and only this operation ends.
    return { errors: [placeInput(toClientError(error), args.document)] };
  }
}

async function runWhenAdmitted(
  guard: OperationGuard,
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  run: Run,
): Promise<Result> {
  const context = args.contextValue as GuardedContext;
  const isMutation = operation.operation === OperationTypeNode.MUTATION;
  const isSubscription = operation.operation === OperationTypeNode.SUBSCRIPTION;
  const facts = guard.factsOf(args.document, operation);
  const { roots } = facts;
  // The gate checks this, too, but requests that it let in at the same time may have used up the budget.
  guard.rateLimits.requireCpu(context.remoteAddress);
  requireVariablesWithinLimits(args.variableValues ?? {});
  if (isSubscription) requireUnconditional(roots);
  if (isMutation) await guard.rateLimits.admitMutations(context, roots.length, context.usages);
  const chargeChecks = beginCharge(guard, context);
  // If the operation is known to be modest, the execution alone reads its variables.
  if (isSubscription || !facts.isKnownWithinLimits()) {
    const refused = refuseVariables(guard, args, operation);
    if (refused !== null) {
      chargeChecks();
      return refused;
    }
  }
  const size = facts.sizeOf(args.variableValues ?? {});
  context.trace.cost = size.cost;
  facts.requireWithinLimits(size, args.variableValues ?? {});
  chargeChecks();
  const isFirstRun = facts.isFirstRun();
  const giveBack = isMutation
    ? await guard.concurrency.mutations.take(writerOf(context))
    : await takePlaces(guard, context.remoteAddress, isFirstRun);
  try {
    if (!isMutation) beginReads(context);
    const pause = isMutation ? null : yieldToEventLoop();
    if (pause !== null) await pause;
    const chargeRun = beginCharge(guard, context);
    const running = isIntrospection(roots) ? answerIntrospection(args, run) : run(args);
    chargeRun();
    // An execution that waits for nothing returns its result without a promise.
    const result = running instanceof Promise ? await running : running;
    if (isStream(result)) return result;
    // A fixed time for each error: errors are made one by one, between other work.
    if (result.errors) guard.rateLimits.chargeCpu(context.remoteAddress, result.errors.length * ERROR_MS);
    // Without data, no field has run.
    if (result.data === undefined) return refuseVariables(guard, args, operation) ?? result;
    // A mutation's answer has no limit: it has had its effect, and began only because its answer can't be
    // large.
    if (!isMutation) {
      guard.limitAnswer(result, context);
      const writing = writeReads(context, result);
      if (writing !== null) await writing;
    }
    return withCost(result, size.cost, guard.limits.MAX_OPERATION_COST);
  } finally {
    giveBack();
    forgetScopes(context);
  }
}

/** A caller has one name, and may have many addresses. */
function writerOf({ caller, remoteAddress }: GuardedContext): string {
  return caller == null ? addressKey(remoteAddress) : `caller ${caller.subject}`;
}

/**
 * Takes the places of a query. @returns the function that gives the places back. @throws DomainError
 * OVERLOADED
 */
async function takePlaces(
  { concurrency, rateLimits }: OperationGuard,
  remoteAddress: string,
  isFirstRun: boolean,
): Promise<() => void> {
  const key = addressKey(remoteAddress);
  if (isFirstRun) return takeFirstPlaces(concurrency, key);
  const free = concurrency.queries.takeFree(key);
  if (free !== null) return free;
  // When an address has more queries than may run, each waiting query delays the next one, which spreads
  // their answers.
  rateLimits.slowDown(remoteAddress);
  return concurrency.queries.take(key);
}

/** Takes the places of a query that runs for the first time. */
async function takeFirstPlaces(
  { firstQueries, queries }: OperationGuard['concurrency'],
  key: string,
): Promise<() => void> {
  const giveBackFirst = await firstQueries.take(key);
  // Also gives back the place of a query that gets no other.
  const timer = setTimeout(giveBackFirst, FIRST_RUN_MS);
  const giveBack = await queries.take(key);
  return () => {
    clearTimeout(timer);
    giveBack();
    giveBackFirst();
  };
}

/**
 * Charges the address for synchronous computing: introspection, and variables. The budgets of requests cover
 * ordinary operations.
 */
function beginCharge({ rateLimits }: OperationGuard, { remoteAddress }: GuardedContext): () => void {
  const elapsed = stopwatch();
  return () => {
    const ms = elapsed();
    if (ms > ORDINARY_MS) rateLimits.chargeCpu(remoteAddress, ms);
  };
}

/**
 * No field runs, so the audit log gets no entry: unknown clients can send invalid variables, too.
 * @returns null when the variables are valid
 */
function refuseVariables(
  { hideSuggestions }: OperationGuard,
  { schema, document, variableValues }: ExecutionArgs,
  operation: OperationDefinitionNode,
): ExecutionResult | null {
  const options = { maxErrors: MAX_VARIABLE_ERRORS, hideSuggestions };
  const read = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {}, options);
  if (read.errors === undefined) return null;
  return { errors: read.errors.map((error) => placeInput(toClientError(error), document)) };
}

/** graphql-js reports a subscription whose field is skipped as an internal error, so it is refused here. */
function requireUnconditional(roots: readonly RootField[]): void {
  const conditional = roots.find(({ isConditional }) => isConditional);
  if (conditional === undefined) return;
  throw new DomainError(
    'GRAPHQL_VALIDATION_FAILED',
    `The subscription's field ${conditional.name} can't have @skip or @include.`,
  );
}

/** Counts a subscription while it is open, and ends it when its credential ends. */
async function subscribe(guard: OperationGuard, args: ExecutionArgs, run: Subscribe): Promise<Result> {
  const { caller, remoteAddress, transport, whenSent } = args.contextValue as GuardedContext;
  const close = guard.subscriptions.open(addressKey(remoteAddress));
  if (close === null) throw overloaded();
  try {
    const result = await run(args);
    if (!isStream(result)) {
      close();
      return result;
    }
    return new EndingStream(result, (end) => {
      const unwatch = caller === null ? () => undefined : guard.credentialEnds.watch(caller, end);
      // If the client leaves before the head of its answer is sent, nothing else reads or ends the events.
      if (transport === 'http') whenSent(() => queueMicrotask(end));
      return () => {
        unwatch();
        close();
      };
    });
  } catch (error) {
    close();
    throw error;
  }
}

function withCost(result: ExecutionResult, cost: number, limit: number): ExecutionResult {
  // The members are listed because V8 copies an object with `...` slowly, member by member.
  const { errors, data } = result;
  const extensions = { ...result.extensions, cost: { requested: cost, limit } };
  return errors === undefined ? { data, extensions } : { errors, data, extensions };
}

export function isStream(result: Result): result is PullStream<ExecutionResult> {
  return Symbol.asyncIterator in result;
}
