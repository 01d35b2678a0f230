/**
 * The GraphQL pipeline: one yoga, whose parsing, validation, context and execution serve HTTP and SSE
 * directly and websockets through `getEnveloped` (see websocket.ts), so that all follow the same rules.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DocumentNode, ExecutionArgs, ExecutionResult, GraphQLSchema, ValidationRule } from 'graphql';
import { GraphQLError, NoSchemaIntrospectionCustomRule, validate } from 'graphql';
import { createYoga } from 'graphql-yoga';
import type { Plugin } from 'graphql-yoga';
import type { AuditLog } from '../../identity/auditLog.ts';
import type { CredentialEnds } from '../../identity/credentialEnds.ts';
import type { TokenVerifier } from '../../identity/tokens.ts';
import { createCounters } from '../../limits/counters.ts';
import type { Limits } from '../../limits/limits.ts';
import { priceFields } from '../../limits/operationCost.ts';
import type { RateLimits } from '../../limits/rateLimits.ts';
import { createConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import { withoutStack } from '../../lib/withoutStack.ts';
import type { Context } from '../../schema/core/context.ts';
import { createAnswerLimits } from './answerLimits.ts';
import { auditMutations } from './auditMutations.ts';
import { auditReads } from './auditReads.ts';
import { createAsk, type AskInProcess } from './askInProcess.ts';
import { useCpuCharge, type ChargeCpu } from './chargeCpu.ts';
import { createDirectPost, type DirectOperation, type DirectPost } from './directPost.ts';
import { createDocumentCache } from './documentCache.ts';
import { toClientError } from './errors.ts';
import type { DocumentRules, DocumentSource } from '../documents/documentSource.ts';
import { ANY_DOCUMENT, createDocumentSource } from '../documents/documentSource.ts';
import { createDocumentTurns, type TakeDocument } from '../documents/documentTurns.ts';
import { useDocuments } from '../documents/useDocuments.ts';
import { createGate, useGate, type Gate } from '../server/gate.ts';
import type { OperationGuard, Subscribe } from './guardOperations.ts';
import { createValidatedDocuments } from './validatedDocuments.ts';
import { createOperationFacts } from './operationFacts.ts';
import type { ObserveOperation, OperationLog, OperationLogger } from './logOperations.ts';
import { createOperationLog } from './logOperations.ts';
import { mapAllAndLog, type ErrorLog } from './maskErrors.ts';
import { useMultipartSubscriptions } from './multipartSubscriptions.ts';
import { createOperations } from './operations.ts';
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

/** The steps of one query or mutation, with their plugins. A subscription uses all but `execute`. */
export interface Enveloped {
  schema: GraphQLSchema;
  parse: (source: string) => DocumentNode;
  validate: (schema: GraphQLSchema, document: DocumentNode) => readonly GraphQLError[];
  contextFactory: () => Promise<object>;
  execute: (args: ExecutionArgs) => Promise<ExecutionResult>;
}

export interface Pipeline {
  gate: Gate;
  /** For other transports: the document that a request runs, once it may be parsed. */
  takeDocument: TakeDocument;
  /** Answers most requests without yoga's request and response objects; `handle` answers the others. */
  post: DirectPost;
  /** Runs operations of the server's own pages, with the limits, errors and log of clients' operations. */
  ask: AskInProcess;
  chargeCpu: ChargeCpu;
  /** Answers a whole HTTP request. */
  handle(request: IncomingMessage, response: ServerResponse, context: TransportContext): Promise<void>;
  /** For other transports: the steps of one operation. */
  getEnveloped(context: TransportContext): Enveloped;
  subscribe: Subscribe;
  /** For other transports: logs a request that did not become an operation. */
  logRefusal(context: TransportContext, errors: readonly GraphQLError[]): void;
  openSubscriptions(): number;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { schema, dependencies, audit, log } = options;
  const guard = guardOf(options);
  const operationLog = createOperationLog(log, options.observeOperation);
  const operations = createOperations({ schema, guard, operationLog, log });
  const documents = createDocumentSource(options.documents ?? ANY_DOCUMENT);
  const { caches, takeDocument } = createParsing(documents, options.rateLimits);
  const validated = createValidatedDocuments();
  const gate = createGate(options.rateLimits, options.verifyToken);
  prepareFields(schema);
  const yoga = createYoga<TransportContext, Pick<Context<object>, 'audit' | 'caller' | 'dependencies'>>({
    schema,
    graphqlEndpoint: GRAPHQL_PATH,
    context: ({ caller = null }) => ({ caller, audit, dependencies }),
    maskedErrors: { maskError: toClientError },
    plugins: [
      useCpuCharge(options.rateLimits.chargeCpu),
      useGate(gate),
      useRequestRules(),
      useDocuments(documents, takeDocument),
      useValidation(options.introspection),
      ...operations.plugins,
      validated.plugin,
      useMultipartSubscriptions(),
      useNotAcceptable(),
      useUnbufferedStreams(),
    ],
    parserAndValidationCache: caches,
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
  const executing = executionOf(options, operationLog.logRefusal);
  return {
    gate,
    takeDocument,
    post: createDirectPost({
      path: GRAPHQL_PATH,
      gate,
      documents,
      validated,
      execute: executing(operations.executeKept),
    }),
    ask: createAsk(schema, executing(operations.execute)),
    chargeCpu: options.rateLimits.chargeCpu,
    async handle(request, response, context) {
      await yoga.handle(request, response, context);
    },
    getEnveloped: (context) => yoga.getEnveloped({ ...context }) as unknown as Enveloped,
    subscribe: operations.subscribe,
    logRefusal: operationLog.logRefusal,
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

/** Makes executions that never reject. */
function executionOf(
  { schema, audit, dependencies, log }: PipelineOptions,
  logRefusal: OperationLog['logRefusal'],
) {
  return (run: (args: ExecutionArgs) => Promise<ExecutionResult>) =>
    (
      { document, operationName, variables }: DirectOperation,
      context: TransportContext,
    ): Promise<ExecutionResult> => {
      const contextValue = Object.assign(context, { audit, dependencies });
      const args = { schema, document, operationName, variableValues: variables, contextValue };
      return run(args).catch((error: unknown) => {
        const errors = mapAllAndLog(error, context.requestId, log);
        logRefusal(context, errors);
        return { errors };
      });
    };
}

function createParsing(source: DocumentSource, { requireCpu, chargeCpu }: RateLimits) {
  const documentCache = createDocumentCache<DocumentNode>();
  const errorCache = createDocumentCache<Error>();
  const isParsed = (text: string) => (documentCache.get(text) ?? errorCache.get(text)) !== undefined;
  return {
    caches: { documentCache, errorCache },
    takeDocument: createDocumentTurns({ source, isParsed, requireCpu, chargeCpu }),
  };
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
    limits: limits.operations,
    factsOf: createOperationFacts(schema, limits.operations),
    rateLimits,
    concurrency: {
      queries: atOnce(
        limits.maxQueriesInFlight,
        Math.max(Math.ceil(limits.maxQueriesInFlight / QUERY_SHARES), SMALLEST_SHARE),
      ),
      // One at a time: only a client that invents documents has new ones without end.
      firstQueries: atOnce(limits.maxQueriesInFlight, 1),
      mutations: atOnce(
        limits.maxMutationsInFlight,
        Math.ceil(limits.maxMutationsInFlight / MUTATION_SHARES),
      ),
    },
    subscriptions: createCounters(limits.maxSubscriptions, limits.maxSubscriptionsPerAddress),
    limitAnswer: createAnswerLimits(rateLimits.chargeCpu),
    credentialEnds,
    hideSuggestions: !introspection,
  };
}

/** Without introspection, errors suggest no names either, because suggestions would disclose the schema. */
function useValidation(introspection: boolean): Plugin {
  return {
    onValidate: ({ addValidationRule, setValidationFn }) => {
      if (!introspection) addValidationRule(NoSchemaIntrospectionCustomRule);
      setValidationFn((schema: GraphQLSchema, document: DocumentNode, rules: ValidationRule[]) =>
        validateWithinStack(schema, document, rules, { hideSuggestions: !introspection }),
      );
    },
  };
}

/** One rule of graphql-js overflows the stack on mutual fragment spreads before another rule refuses them. */
const validateWithinStack: typeof validate = (...args) => {
  try {
    return withoutStack(() => validate(...args));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const message = 'Its fragments spread each other too deeply to be validated.';
    return [new GraphQLError(message, { extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } })];
  }
};

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
