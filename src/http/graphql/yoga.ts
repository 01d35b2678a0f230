/**
 * The GraphQL pipeline: all transports find, check and run their operations here, by the same rules. yoga
 * reads the requests of HTTP and SSE, and writes their answers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionArgs, ExecutionResult, GraphQLSchema } from 'graphql';
import { createYoga } from 'graphql-yoga';
import type { AuditLog } from '../../identity/auditLog.ts';
import type { CredentialEnds } from '../../identity/credentialEnds.ts';
import type { TokenVerifier } from '../../identity/tokens.ts';
import { createCounters } from '../../limits/counters.ts';
import type { Limits } from '../../limits/limits.ts';
import { priceFields } from '../../limits/operationCost.ts';
import type { RateLimits } from '../../limits/rateLimits.ts';
import { createConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import type { Context } from '../../schema/core/context.ts';
import { createAnswerLimits } from './answerLimits.ts';
import { auditMutations } from './auditMutations.ts';
import { auditReads } from './auditReads.ts';
import { createAsk, type AskInProcess } from './askInProcess.ts';
import type { ChargeCpu } from './chargeCpu.ts';
import { createDirectPost, type DirectOperation, type DirectPost } from './directPost.ts';
import { toClientError } from './errors.ts';
import { createCheckedDocuments } from '../documents/checkedDocuments.ts';
import type { DocumentParams, DocumentRules } from '../documents/documentSource.ts';
import { ANY_DOCUMENT, createDocumentSource } from '../documents/documentSource.ts';
import { createDocumentTurns } from '../documents/documentTurns.ts';
import { createGate, useGate, type Gate } from '../server/gate.ts';
import type { OperationGuard } from './guardOperations.ts';
import { createOperationFacts } from './operationFacts.ts';
import { createOperationLog, type ObserveOperation, type OperationLogger } from './logOperations.ts';
import type { ErrorLog } from './maskErrors.ts';
import { useMultipartSubscriptions } from './multipartSubscriptions.ts';
import { createOperations, type Operations } from './operations.ts';
import { useOperations } from './operationsOfYoga.ts';
import { useNotAcceptable } from './notAcceptable.ts';
import { useUnbufferedStreams } from './unbufferedStreams.ts';
import { useRequestRules } from '../server/requestRules.ts';
import type { TransportContext } from './transportContext.ts';

export const GRAPHQL_PATH = '/graphql';

/** An operation that has waited this long for its turn is refused: its client may have given up. */
const QUEUE_WAIT_MS = 10_000;
/**
 * An address has at most one fiftieth of the places of queries, which is more than the database has
 * processors. With more places, its answers would not come sooner but all at once, and other clients would
 * wait.
 */
const QUERY_SHARES = 50;
/**
 * One caller has at most half of the places of mutations. A mutation, repeated ones included, waits for the
 * network longer than others wait for a place: with all places, a single retirement that takes minutes would
 * keep all other callers from writing.
 */
const MUTATION_SHARES = 2;
/** Minimum share of an address where few queries may run. */
const SMALLEST_SHARE = 2;

/** Origins of browser pages that may call the API; `*` for any, because no cookie authenticates a caller. */
export type AllowedOrigins = '*' | readonly string[];

export interface PipelineOptions {
  schema: GraphQLSchema;
  /** Passed to resolvers in their context; opaque to the pipeline. */
  dependencies: object;
  verifyToken: TokenVerifier;
  allowedOrigins: AllowedOrigins;
  /** Whether introspection is allowed; without it, errors do not suggest names of the schema either. */
  introspection: boolean;
  /** Which documents may run; any by default. */
  documents?: DocumentRules;
  limits: Limits;
  rateLimits: RateLimits;
  credentialEnds: CredentialEnds;
  audit: AuditLog;
  log: ErrorLog & OperationLogger;
  /** For metrics; absent on a server without metrics. */
  observeOperation?: ObserveOperation;
}

export interface Pipeline {
  gate: Gate;
  /** Answers most requests without yoga's request and response objects; `handle` answers the others. */
  post: DirectPost;
  /** Runs operations of the server's own pages, with the limits, errors and log of clients' operations. */
  ask: AskInProcess;
  chargeCpu: ChargeCpu;
  /** Answers a whole HTTP request. */
  handle(request: IncomingMessage, response: ServerResponse, context: TransportContext): Promise<void>;
  /**
   * For other transports: finds, parses and validates the document of a request, when its turn has come.
   * @returns the arguments for `execute` and `subscribe`
   * @throws the errors of TakeDocument and of CheckedDocuments.check; AggregateError of a document's problems
   */
  prepare(
    asked: DocumentParams & Partial<Omit<DirectOperation, 'document'>> & { query: string },
    context: TransportContext,
  ): Promise<ExecutionArgs>;
  execute: Operations['execute'];
  subscribe: Operations['subscribe'];
  refuse: Operations['refuse'];
  openSubscriptions(): number;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { schema, introspection, dependencies, audit, log } = options;
  const { requireCpu, chargeCpu } = options.rateLimits;
  const guard = guardOf(options);
  const operationLog = createOperationLog(log, options.observeOperation);
  const operations = createOperations({ schema, guard, operationLog, log });
  const source = createDocumentSource(options.documents ?? ANY_DOCUMENT);
  const checked = createCheckedDocuments({ schema, introspection, source, chargeCpu });
  const takeDocument = createDocumentTurns({ source, isParsed: checked.isKnown, requireCpu, chargeCpu });
  const gate = createGate(options.rateLimits, options.verifyToken);
  const argsOf = argumentsOf(options);
  prepareFields(schema);
  const yoga = createYoga<TransportContext, Pick<Context<object>, 'audit' | 'caller' | 'dependencies'>>({
    schema,
    graphqlEndpoint: GRAPHQL_PATH,
    context: ({ caller = null }) => ({ caller, audit, dependencies }),
    maskedErrors: { maskError: toClientError },
    plugins: [
      useGate(gate),
      useRequestRules(),
      useOperations({ takeDocument, checked, operations }),
      useMultipartSubscriptions(),
      useNotAcceptable(),
      useUnbufferedStreams(),
    ],
    parserAndValidationCache: false,
    cors: corsOf(options.allowedOrigins),
    extraParamNames: ['documentId'],
    batching: false,
    multipart: false,
    graphiql: false,
    landingPage: false,
    // yoga answers any URL with this ending before any limit: no URL has a space.
    healthCheckEndpoint: ' ',
    // The server limits bodies before this point, and the error table logs errors.
    maxRequestBodySize: false,
    logging: false,
  });
  const executing = executionOf(argsOf, operations.refuse);
  return {
    gate,
    async prepare(asked, context) {
      const { query: text, operationName, variables } = asked;
      const named = (await takeDocument(asked, context.remoteAddress)) ?? { text };
      const { document, problems } = checked.check(named, context.remoteAddress);
      if (problems.length > 0) throw new AggregateError(problems);
      return argsOf({ document, operationName, variables }, context);
    },
    post: createDirectPost({
      path: GRAPHQL_PATH,
      gate,
      documents: source,
      validated: checked,
      execute: executing(operations.executeKept),
    }),
    ask: createAsk(schema, executing(operations.execute)),
    chargeCpu,
    async handle(request, response, context) {
      await yoga.handle(request, response, context);
    },
    execute: operations.execute,
    subscribe: operations.subscribe,
    refuse: operations.refuse,
    openSubscriptions: () => guard.subscriptions.total,
  };
}

const prepared = new WeakSet<GraphQLSchema>();

/** Prepares a schema only once, because several servers of one process may share it. */
function prepareFields(schema: GraphQLSchema): void {
  if (prepared.has(schema)) return;
  prepared.add(schema);
  priceFields(schema);
  auditMutations(schema);
  auditReads(schema);
}

function argumentsOf({ schema, audit, dependencies }: PipelineOptions) {
  return (
    { document, operationName, variables }: DirectOperation,
    context: TransportContext,
  ): ExecutionArgs => {
    const contextValue = Object.assign(context, { audit, dependencies });
    return { schema, document, operationName, variableValues: variables, contextValue };
  };
}

/** Makes executions that never reject. */
function executionOf(argsOf: ReturnType<typeof argumentsOf>, refuse: Operations['refuse']) {
  return (run: Operations['execute']) =>
    (operation: DirectOperation, context: TransportContext): Promise<ExecutionResult> =>
      run(argsOf(operation, context)).catch((error: unknown) => ({ errors: refuse([error], context) }));
}

function guardOf({
  schema,
  limits,
  rateLimits,
  credentialEnds,
  introspection,
}: PipelineOptions): OperationGuard {
  const atOnce = (count: number, maxPerKey: number) =>
    createConcurrencyLimit({ maxConcurrent: count, maxPerKey, maxWaiting: count, waitMs: QUEUE_WAIT_MS });
  return {
    limits,
    factsOf: createOperationFacts(schema, limits),
    rateLimits,
    concurrency: {
      queries: atOnce(
        limits.MAX_QUERIES_IN_FLIGHT,
        Math.max(Math.ceil(limits.MAX_QUERIES_IN_FLIGHT / QUERY_SHARES), SMALLEST_SHARE),
      ),
      // One at a time: only a client that invents documents has new ones without end.
      firstQueries: atOnce(limits.MAX_QUERIES_IN_FLIGHT, 1),
      mutations: atOnce(
        limits.MAX_MUTATIONS_IN_FLIGHT,
        Math.ceil(limits.MAX_MUTATIONS_IN_FLIGHT / MUTATION_SHARES),
      ),
    },
    subscriptions: createCounters(limits.MAX_SUBSCRIPTIONS, limits.MAX_SUBSCRIPTIONS_PER_ADDRESS),
    limitAnswer: createAnswerLimits(rateLimits.chargeCpu),
    credentialEnds,
    hideSuggestions: !introspection,
  };
}

/** Headers that GraphQL clients and tracing add. None lets a page do more than it can without them. */
const ALLOWED_HEADERS = [
  'authorization',
  'content-type',
  'x-request-id',
  'apollo-require-preflight',
  'apollographql-client-name',
  'apollographql-client-version',
  'traceparent',
  'tracestate',
  'baggage',
];

function corsOf(allowedOrigins: AllowedOrigins) {
  if (allowedOrigins !== '*' && allowedOrigins.length === 0) return false;
  const cors = {
    origin: allowedOrigins === '*' ? '*' : [...allowedOrigins],
    credentials: false,
    methods: ['GET', 'POST'],
    allowedHeaders: ALLOWED_HEADERS,
    exposedHeaders: ['x-request-id', 'retry-after', 'ratelimit', 'ratelimit-policy'],
    maxAge: 600,
  };
  if (allowedOrigins === '*') return cors;
  // yoga would answer other origins with `null`, the origin of pages in sandboxed frames of any site.
  return ({ headers }: Request) => (allowedOrigins.includes(headers.get('origin') ?? '') ? cors : false);
}
