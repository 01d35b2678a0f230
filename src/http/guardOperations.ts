/**
 * What every operation passes between validation and its resolvers, on every transport:
 *
 *   variables fit? ─▶ affordable? ─▶ mutations: budget left? ─▶ a slot is free ─▶ runs ─▶ cost told
 *
 * A refusal is an answer with errors, never an exception: on a websocket that would end the socket.
 */
import type { DocumentNode, ExecutionArgs, ExecutionResult, OperationDefinitionNode } from 'graphql';
import { getOperationAST, getVariableValues, Kind, OperationTypeNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { DomainError } from '../errors.ts';
import type { CredentialEnds } from '../identity/credentialEnds.ts';
import { addressKey } from '../limits/addressKey.ts';
import type { Counters } from '../limits/counters.ts';
import { requireModestDocument } from '../limits/documentLimits.ts';
import type { OperationLimits } from '../limits/operationCost.ts';
import { measure, requireAffordable } from '../limits/operationCost.ts';
import type { RateLimits } from '../limits/rateLimits.ts';
import { overloaded } from '../limits/slots.ts';
import type { Slots } from '../limits/slots.ts';
import type { Context } from '../schema/context.ts';
import { recordUnstarted } from './auditMutations.ts';
import { endingStream } from './endingStream.ts';
import { toClientError } from './errors.ts';
import type { RootField } from './rootFields.ts';
import { rootFields } from './rootFields.ts';
import type { TransportContext } from './transportContext.ts';

export interface OperationGuard {
  limits: OperationLimits;
  rateLimits: RateLimits;
  /** Mutations wait for the network, so they have places of their own. */
  slots: { queries: Slots; mutations: Slots };
  /** Open subscriptions, by address. */
  subscriptions: Counters;
  credentialEnds: CredentialEnds;
  /** Whether a misspelt name is answered with those it may have meant. */
  hideSuggestions: boolean;
}

type Result = ExecutionResult | AsyncIterable<ExecutionResult>;
type Run = (args: ExecutionArgs) => Result | Promise<Result>;
type GuardedContext = Context<unknown> & TransportContext;

/** GraphQL's own limit for what it says about one set of variables. */
const MAX_VARIABLE_ERRORS = 50;

export function useOperationGuard(guard: OperationGuard): Plugin {
  const modest = new WeakSet<DocumentNode>();
  return {
    onParse: () => (payload) => {
      const document: unknown = payload.result;
      if (!isDocument(document) || modest.has(document)) return;
      requireModestDocument(document);
      modest.add(document);
    },
    onExecute: ({ executeFn, setExecuteFn }) => {
      setExecuteFn((args: ExecutionArgs) => guarded(guard, args, executeFn as Run));
    },
    onSubscribe: ({ subscribeFn, setSubscribeFn }) => {
      setSubscribeFn((args: ExecutionArgs) =>
        guarded(guard, args, (checked) => subscribe(guard, checked, subscribeFn as Run)),
      );
    },
  };
}

async function guarded(guard: OperationGuard, args: ExecutionArgs, run: Run): Promise<Result> {
  const operation = getOperationAST(args.document, args.operationName);
  // Which operation is meant is unclear: the executor says so.
  if (operation == null) return run(args);
  try {
    return await runWhenAdmitted(guard, args, operation, run);
  } catch (error) {
    // Whose client went away has nobody to be answered.
    if (error instanceof Error && error.name === 'AbortError') throw error;
    // A defect, too: the error table logs it, and only this operation ends.
    return { errors: [toClientError(error)] };
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
  const roots = rootFields(args.document, operation);
  const fields = isMutation ? roots.map(({ name }) => name) : [];
  if (operation.operation === OperationTypeNode.SUBSCRIPTION) requireUnconditional(roots);
  if (isMutation) await guard.rateLimits.admitMutations(context, fields.length, context.usages);
  const variables = getVariableValues(
    args.schema,
    operation.variableDefinitions ?? [],
    args.variableValues ?? {},
    { maxErrors: MAX_VARIABLE_ERRORS, hideSuggestions: guard.hideSuggestions },
  );
  if (variables.errors !== undefined) {
    const errors = variables.errors.map(toClientError);
    await recordUnstarted(context.audit, context, fields, String(errors[0]?.extensions['code']));
    return { errors };
  }
  const size = measure(args.schema, args.document, operation, args.variableValues ?? {});
  context.trace.cost = size.cost;
  requireAffordable(size, guard.limits);
  const giveBack = await guard.slots[isMutation ? 'mutations' : 'queries'].take();
  try {
    const result = await run(args);
    return isStream(result) ? result : withCost(result, size.cost, guard.limits.maxCost);
  } finally {
    giveBack();
  }
}

/** What would be left out could not be subscribed to; the executor takes that for a defect of its own. */
function requireUnconditional(roots: readonly RootField[]): void {
  const conditional = roots.find(({ isConditional }) => isConditional);
  if (conditional === undefined) return;
  throw new DomainError(
    'GRAPHQL_VALIDATION_FAILED',
    `The subscription's field ${conditional.name} can't have @skip or @include.`,
  );
}

/** A subscription counts as long as it is open, and ends with the credential that opened it. */
async function subscribe(guard: OperationGuard, args: ExecutionArgs, run: Run): Promise<Result> {
  const { caller, remoteAddress } = args.contextValue as GuardedContext;
  const close = guard.subscriptions.open(addressKey(remoteAddress));
  if (close === null) throw overloaded();
  try {
    const result = await run(args);
    if (!isStream(result)) {
      close();
      return result;
    }
    return endingStream(result, (end) => {
      const unwatch = caller === null ? () => undefined : guard.credentialEnds.watch(caller, end);
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
  return { ...result, extensions: { ...result.extensions, cost: { requested: cost, limit } } };
}

function isStream(result: Result): result is AsyncIterable<ExecutionResult> {
  return Symbol.asyncIterator in result;
}

function isDocument(value: unknown): value is DocumentNode {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === Kind.DOCUMENT;
}
