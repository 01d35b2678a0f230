/**
 * The GraphQL pipeline: one yoga, whose parsing, validation, context and execution serve HTTP and SSE
 * directly and websockets through `getEnveloped` (see websocket.ts), so that all follow the same rules.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  DocumentNode,
  ExecutionArgs,
  ExecutionResult,
  GraphQLError,
  GraphQLSchema,
  ValidationRule,
} from 'graphql';
import { execute, NoSchemaIntrospectionCustomRule, validate } from 'graphql';
import { createYoga } from 'graphql-yoga';
import type { Plugin } from 'graphql-yoga';
import type { Clock } from '../clock.ts';
import type { AuditTrail } from '../identity/auditTrail.ts';
import type { CredentialEnds } from '../identity/credentialEnds.ts';
import type { TokenVerifier } from '../identity/tokens.ts';
import { createCounters } from '../limits/counters.ts';
import type { Limits } from '../limits/limits.ts';
import { priceFields } from '../limits/operationCost.ts';
import type { RateLimits } from '../limits/rateLimits.ts';
import { createSlots } from '../limits/slots.ts';
import type { Context } from '../schema/context.ts';
import { auditMutations } from './auditMutations.ts';
import { createDocumentCache } from './documentCache.ts';
import { toClientError } from './errors.ts';
import type { Gate } from './gate.ts';
import { createGate, useGate } from './gate.ts';
import type { OperationGuard } from './guardOperations.ts';
import { useOperationGuard } from './guardOperations.ts';
import type { OperationLogger } from './logOperations.ts';
import { createOperationLog } from './logOperations.ts';
import type { ErrorLog } from './maskErrors.ts';
import { useErrorTable } from './maskErrors.ts';
import { useRequestRules } from './requestRules.ts';
import type { TransportContext } from './transportContext.ts';

export const GRAPHQL_PATH = '/graphql';

/** What has waited this long for its turn is refused: its client may have given up. */
const SLOT_WAIT_MS = 10_000;

/** Origins of browser pages that may call the API; `*` for any, since no cookie speaks for a caller. */
export type AllowedOrigins = '*' | readonly string[];

export interface PipelineOptions {
  schema: GraphQLSchema;
  /** What resolvers find in their context; the pipeline itself does not look inside. */
  dependencies: object;
  verifyToken: TokenVerifier;
  allowedOrigins: AllowedOrigins;
  /** Whether clients may ask for the schema; without it, errors don't suggest its names either. */
  introspection: boolean;
  limits: Limits;
  rateLimits: RateLimits;
  credentialEnds: CredentialEnds;
  audit: AuditTrail;
  clock: Clock;
  log: ErrorLog & OperationLogger;
}

/** The steps of one operation, each with all plugins around it. */
export interface Enveloped {
  schema: GraphQLSchema;
  parse: (source: string) => DocumentNode;
  validate: (schema: GraphQLSchema, document: DocumentNode) => readonly GraphQLError[];
  contextFactory: () => Promise<object>;
  execute: (args: ExecutionArgs) => Promise<ExecutionResult>;
  subscribe: (args: ExecutionArgs) => Promise<AsyncIterable<ExecutionResult> | ExecutionResult>;
}

export interface Pipeline {
  gate: Gate;
  /** Answers a whole HTTP request. */
  handle(request: IncomingMessage, response: ServerResponse, context: TransportContext): Promise<void>;
  /** For other transports: the steps of one operation. */
  getEnveloped(context: TransportContext): Enveloped;
  /** For other transports: the log's line about what did not become an operation. */
  logRefusal(context: TransportContext, errors: readonly GraphQLError[]): void;
  openSubscriptions(): number;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { schema, dependencies, audit, log } = options;
  const guard = guardOf(options);
  const gate = createGate(options.rateLimits, options.verifyToken);
  const operationLog = createOperationLog(log, options.clock);
  priceFields(schema);
  auditMutations(schema);
  const yoga = createYoga<TransportContext, Pick<Context<object>, 'audit' | 'caller' | 'dependencies'>>({
    schema,
    graphqlEndpoint: GRAPHQL_PATH,
    context: ({ caller = null }) => ({ caller, audit, dependencies }),
    maskedErrors: { maskError: toClientError },
    plugins: [
      useReferenceExecution,
      useGate(gate),
      useRequestRules(),
      useSchemaSecrecy(options.introspection),
      useOperationGuard(guard),
      useErrorTable(log),
      operationLog.plugin,
    ],
    parserAndValidationCache: { documentCache: createDocumentCache(), errorCache: createDocumentCache() },
    cors: corsOf(options.allowedOrigins),
    batching: false,
    multipart: false,
    graphiql: false,
    landingPage: false,
    // The server bounds bodies before they come here, and errors are logged by the error table.
    maxRequestBodySize: false,
    logging: false,
  });
  return {
    gate,
    handle: (request, response, context) => yoga.handle(request, response, context),
    getEnveloped: (context) => yoga.getEnveloped({ ...context }) as unknown as Enveloped,
    logRefusal: operationLog.logRefusal,
    openSubscriptions: () => guard.subscriptions.total,
  };
}

function guardOf({ limits, rateLimits, credentialEnds, introspection }: PipelineOptions): OperationGuard {
  const slots = (count: number) => createSlots({ slots: count, maxWaiting: count, waitMs: SLOT_WAIT_MS });
  return {
    limits: limits.operations,
    rateLimits,
    slots: { queries: slots(limits.maxQueriesInFlight), mutations: slots(limits.maxMutationsInFlight) },
    subscriptions: createCounters(limits.maxSubscriptions, limits.maxSubscriptionsPerAddress),
    credentialEnds,
    hideSuggestions: !introspection,
  };
}

/**
 * Executed by graphql itself: yoga's own executor gives fields in the order in which they became known, and clients
 * may rely on the query's order, as the specification says.
 */
const useReferenceExecution: Plugin = { onExecute: ({ setExecuteFn }) => setExecuteFn(execute) };

/** Where the schema is nobody's business, neither introspection nor misspelt names give it away. */
function useSchemaSecrecy(introspection: boolean): Plugin {
  if (introspection) return {};
  return {
    onValidate: ({ addValidationRule, setValidationFn }) => {
      addValidationRule(NoSchemaIntrospectionCustomRule);
      setValidationFn((schema: GraphQLSchema, document: DocumentNode, rules: ValidationRule[]) =>
        validate(schema, document, rules, { hideSuggestions: true }),
      );
    },
  };
}

function corsOf(allowedOrigins: AllowedOrigins) {
  if (allowedOrigins !== '*' && allowedOrigins.length === 0) return false;
  return {
    origin: allowedOrigins === '*' ? '*' : [...allowedOrigins],
    credentials: false,
    methods: ['GET', 'POST'],
    allowedHeaders: ['authorization', 'content-type', 'x-request-id'],
    exposedHeaders: ['x-request-id', 'retry-after', 'ratelimit', 'ratelimit-policy'],
    maxAge: 600,
  };
}
