/**
 * The route table: which path is answered by what.
 *
 *   /                             the public page of live retirements
 *   /graphql                      GraphQL by POST and GET, SSE; GraphiQL for browsers
 *   /api/hooks/retirements        the indexer's deliveries
 *   /api/webhooks/payout-settled  the ramp provider's notices
 *   /healthz, /readyz             is the process alive; can it serve
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR_CODES } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { answerError, answerJson } from './answers.ts';
import type { GraphiqlPage } from './graphiql.ts';
import type { HookHandler } from './hooks.ts';
import { answerHook } from './hooks.ts';
import { answerLivePage } from './livePage.ts';
import { readBody } from './readBody.ts';
import type { Pipeline } from './yoga.ts';
import { GRAPHQL_PATH } from './yoga.ts';

/** The largest operation with all its variables is under 10 kB. */
const MAX_GRAPHQL_BODY_BYTES = 100_000;

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
  remoteAddress: string;
}

export type Route = (exchange: Exchange) => Promise<void>;

export interface RouteOptions {
  pipeline: Pipeline;
  /** Null where there is no GraphiQL. */
  graphiql: GraphiqlPage | null;
  hooks: { retirements: HookHandler; payoutSettled: HookHandler };
  /** May this instance be sent traffic? Its checks are shown to whoever asks. */
  readiness: () => Promise<{ isReady: boolean; checks: Readonly<Record<string, string>> }>;
  log: Pick<Logger, 'error' | 'warn'>;
}

/** Answers one request, by the path alone; never rejects. */
export function createRouter(options: RouteOptions): (exchange: Exchange) => Promise<void> {
  const routes = new Map<string, Route>([
    ['/', ({ response }) => answerLivePage(response)],
    [GRAPHQL_PATH, (exchange) => answerGraphql(exchange, options)],
    ['/api/hooks/retirements', hookRoute(options.hooks.retirements, options.log)],
    ['/api/webhooks/payout-settled', hookRoute(options.hooks.payoutSettled, options.log)],
    ['/healthz', async ({ response }) => answerJson(response, 200, { status: 'ok' })],
    ['/readyz', (exchange) => answerReadiness(exchange, options)],
  ]);
  return async (exchange) => {
    try {
      const route = routes.get(pathOf(exchange.request)) ?? answerNotFound;
      await route(exchange);
    } catch (error) {
      answerFailure(exchange, error, options.log);
    }
  };
}

export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/';
}

async function answerGraphql(exchange: Exchange, { pipeline, graphiql }: RouteOptions): Promise<void> {
  const { request, response, requestId, remoteAddress } = exchange;
  if (graphiql !== null && request.method === 'GET' && request.headers.accept?.includes('text/html')) {
    await graphiql(request, response);
    return;
  }
  // A declared length is held to by Node itself; only an undeclared one has to be counted.
  if (request.headers['transfer-encoding'] !== undefined || declaredBytes(request) > MAX_GRAPHQL_BODY_BYTES) {
    const body = await readBody(request, MAX_GRAPHQL_BODY_BYTES);
    if (body === null) {
      response.setHeader('connection', 'close');
      answerError(response, 413, 'BAD_REQUEST', `The body is over ${MAX_GRAPHQL_BODY_BYTES} bytes.`);
      return;
    }
    // Where yoga's adapter looks for a body that was read already.
    Object.assign(request, { body: body.toString() });
  }
  await pipeline.handle(request, response, { requestId, remoteAddress });
}

function declaredBytes(request: IncomingMessage): number {
  return Number(request.headers['content-length'] ?? 0);
}

function hookRoute(handler: HookHandler, log: RouteOptions['log']): Route {
  return async ({ request, response, requestId, remoteAddress }) => {
    if (request.method === 'POST') {
      await answerHook(request, response, handler, { requestId, remoteAddress }, log);
      return;
    }
    response.setHeader('allow', 'POST');
    answerError(response, 405, 'BAD_REQUEST', 'Deliveries come by POST.');
  };
}

async function answerReadiness({ response }: Exchange, { readiness }: RouteOptions): Promise<void> {
  const { isReady, checks } = await readiness();
  answerJson(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready', checks });
}

async function answerNotFound({ response }: Exchange): Promise<void> {
  answerError(response, 404, 'NOT_FOUND', `There is nothing at this address; the API is at ${GRAPHQL_PATH}.`);
}

function answerFailure(
  { request, response, requestId }: Exchange,
  error: unknown,
  log: RouteOptions['log'],
): void {
  // A client that went away in the middle is no defect, and has nobody to be answered.
  if (request.destroyed && !request.complete) return;
  log.error({ requestId, path: pathOf(request), err: error }, 'a request failed by a defect');
  if (response.headersSent) response.destroy();
  else answerError(response, 500, 'INTERNAL_SERVER_ERROR', ERROR_CODES.INTERNAL_SERVER_ERROR, { requestId });
}
