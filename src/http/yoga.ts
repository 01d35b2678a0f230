/**
 * The GraphQL pipeline: one yoga, whose parsing, validation, context and execution serve HTTP and SSE
 * directly and websockets through `getEnveloped` (see websocket.ts), so that all follow the same rules.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DocumentNode, ExecutionArgs, ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql';
import { createYoga } from 'graphql-yoga';
import type { Plugin } from 'graphql-yoga';
import type { Clock } from '../clock.ts';
import { callerOfAuthorization } from '../identity/bearer.ts';
import type { Caller } from '../identity/roles.ts';
import type { TokenVerifier } from '../identity/tokens.ts';
import type { Context } from '../schema/context.ts';
import { toClientError } from './errors.ts';
import { endingAtExpiry } from './expiry.ts';
import type { ErrorLog } from './maskErrors.ts';
import { useErrorTable } from './maskErrors.ts';
import { useRequestRules } from './requestRules.ts';

export const GRAPHQL_PATH = '/graphql';

/** Origins of browser pages that may call the API; `*` for any, since no cookie speaks for a caller. */
export type AllowedOrigins = '*' | readonly string[];

/** What a transport knows about a request before it is parsed. */
export interface TransportContext {
  requestId: string;
  remoteAddress: string;
  /** Set by transports that verified the token themselves; otherwise the Authorization header decides. */
  caller?: Caller | null;
}

export interface PipelineOptions {
  schema: GraphQLSchema;
  /** What resolvers find in their context; the pipeline itself does not look inside. */
  dependencies: object;
  verifyToken: TokenVerifier;
  allowedOrigins: AllowedOrigins;
  clock: Clock;
  log: ErrorLog;
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
  /** Answers a whole HTTP request. */
  handle(request: IncomingMessage, response: ServerResponse, context: TransportContext): Promise<void>;
  /** For other transports: the steps of one operation. */
  getEnveloped(context: TransportContext): Enveloped;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { dependencies, verifyToken, clock, log } = options;
  const yoga = createYoga<TransportContext, Pick<Context<object>, 'caller' | 'dependencies'>>({
    schema: options.schema,
    graphqlEndpoint: GRAPHQL_PATH,
    context: async (initial) => ({
      caller:
        initial.caller === undefined
          ? await callerOfAuthorization(initial.request.headers.get('authorization'), verifyToken)
          : initial.caller,
      dependencies,
    }),
    maskedErrors: { maskError: toClientError },
    plugins: [useRequestRules(), useErrorTable(log), useTokenExpiry(clock)],
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
    handle: (request, response, context) => yoga.handle(request, response, context),
    getEnveloped: (context) => yoga.getEnveloped({ ...context }) as unknown as Enveloped,
  };
}

/** A subscription lives no longer than the token that opened it, on every transport. */
function useTokenExpiry(clock: Clock): Plugin {
  return {
    onSubscribe: ({ args }) => ({
      onSubscribeResult: ({ result, setResult }) => {
        const caller = (args.contextValue as { caller?: Caller | null }).caller;
        if (caller == null || !(Symbol.asyncIterator in result)) return;
        setResult(endingAtExpiry(result, caller.expiresAt, clock));
      },
    }),
  };
}

function corsOf(allowedOrigins: AllowedOrigins) {
  if (allowedOrigins !== '*' && allowedOrigins.length === 0) return false;
  return {
    origin: allowedOrigins === '*' ? '*' : [...allowedOrigins],
    credentials: false,
    methods: ['GET', 'POST'],
    allowedHeaders: ['authorization', 'content-type', 'x-request-id'],
    exposedHeaders: ['x-request-id', 'retry-after'],
    maxAge: 600,
  };
}
