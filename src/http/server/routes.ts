/**
 * The route table.
 *
 *   /, /projects, …               the public pages (PublicPages.has)
 *   /graphql                      GraphQL by POST and GET, SSE; GraphiQL for browsers
 *   /api/hooks/retirements        the indexer's deliveries
 *   /api/webhooks/payout-settled  the ramp provider's callbacks
 *   /logs/…                       the transparency logs
 *   /healthz, /readyz             liveness; readiness
 *   /metrics                      Prometheus; for METRICS_TOKEN, operators and, by setting, private addresses
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { databaseUnavailable } from '../graphql/databaseUnavailable.ts';
import { DomainError, ERROR_CODES } from '../../lib/errors.ts';
import { HOOK_PATHS } from '../../lib/hookUrls.ts';
import { createThrottledLog } from '../../lib/throttledLog.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { createConcurrencyLimit, type ConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import { cacheAnswer } from '../../lib/cacheAnswer.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Readiness } from './readiness.ts';
import { pathOf } from './requestTarget.ts';
import { answerError, answerJson, answerRefusal } from './answers.ts';
import { contextOf, type Exchange } from './exchange.ts';
import type { GraphiqlPage } from '../pages/graphiql.ts';
import { answerHook, type DeliveryOutcome, type HookHandler, type HookServices } from './hooks.ts';
import { answerLogFile, LOGS_PATH, type ReadLogFile } from './logFiles.ts';
import { answerMetrics, type MetricsPage } from './metricsPage.ts';
import { answerPage, createPagePlaces, type PublicPages } from './pages.ts';
import { giveBody, hasLeft, readBody } from '../../lib/readBody.ts';
import { causeOf } from '../graphql/errors.ts';
import { GRAPHQL_PATH, type Pipeline } from '../graphql/yoga.ts';

/** The largest operation with all its variables is under 10 kB. */
const MAX_GRAPHQL_BODY_BYTES = 100_000;

type Route = (exchange: Exchange) => Promise<void>;

export interface RouteOptions {
  pipeline: Pipeline;
  /** Null where there is no GraphiQL. */
  graphiql: GraphiqlPage | null;
  /** Null for a server of the API alone. */
  pages: PublicPages | null;
  hooks: { retirements: HookHandler; payoutSettled: HookHandler };
  /** Whether this instance may receive traffic. The checks are public. */
  readiness: () => Promise<Readiness>;
  /** Absent on a server without metrics. */
  metrics?: MetricsPage;
  /** For metrics. */
  observeDelivery?: (hook: string, outcome: DeliveryOutcome) => void;
  /** Null where there are no transparency logs. */
  readLogFile: ReadLogFile | null;
  clock: Clock;
  log: Pick<Logger, 'error' | 'warn'>;
}

/** More frequent requests get the last result: a check costs a transaction and a request to the network. */
const READINESS_MAX_AGE_MS = 1_000;
/**
 * Concurrent deliveries; as many again wait. Further deliveries are dropped; the feed filler and polling find
 * their events.
 */
const MAX_DELIVERIES = 100;
const DELIVERY_WAIT_MS = 5_000;

/** Returns the function that answers one request, by the path alone; it never rejects. */
export function createRouter(options: RouteOptions): (exchange: Exchange) => Promise<void> {
  const { pipeline, hooks } = options;
  const deliveries = createConcurrencyLimit({
    maxConcurrent: MAX_DELIVERIES,
    maxWaiting: MAX_DELIVERIES,
    waitMs: DELIVERY_WAIT_MS,
  });
  const services = {
    gate: pipeline.gate,
    refused: createThrottledLog(options.log, 'deliveries were refused'),
    log: options.log,
  };
  const hook = (name: keyof typeof HOOK_PATHS): [string, Route] => {
    const path = HOOK_PATHS[name];
    const observe = (outcome: DeliveryOutcome) => options.observeDelivery?.(basename(path), outcome);
    return [path, hookRoute(withinLimit(hooks[name], deliveries), { ...services, observe })];
  };
  const readiness = cacheAnswer(
    { maxAgeMs: READINESS_MAX_AGE_MS, clock: options.clock, cachesFailures: true },
    options.readiness,
  );
  const pageServices = { ...options, places: createPagePlaces() };
  const logRoute = createLogRoute(options);
  const answerOther: Route = async (exchange) => {
    const { pages } = options;
    const { request } = exchange;
    // On an unknown path, a browser gets a page that says so.
    if (pages !== null && (pages.has(pathOf(request)) || isForBrowser(request)))
      await answerPage(exchange, pages, pageServices);
    else await counted(pipeline, answerNotFound)(exchange);
  };
  const routes = new Map<string, Route>([
    hook('retirements'),
    hook('payoutSettled'),
    // Health checks are answered even while all other requests of their address are refused.
    ['/healthz', async ({ response }) => answerJson(response, 200, { status: 'ok' })],
    ['/readyz', async ({ response }) => answerReadiness(response, await readiness())],
  ]);
  const { metrics } = options;
  if (metrics) routes.set('/metrics', (exchange) => answerMetrics(exchange, metrics, pipeline.gate));
  return async (exchange) => {
    try {
      const path = pathOf(exchange.request);
      if (path === GRAPHQL_PATH) {
        await answerGraphql(exchange, options);
        return;
      }
      exchange.prepare();
      await (routes.get(path) ?? logRoute(path) ?? answerOther)(exchange);
    } catch (error) {
      answerFailure(exchange, error, options.log);
    }
  };
}

/**
 * Tiles are read from the database, so they count like requests. They have as many places as pages, but their
 * own.
 */
function createLogRoute({ pipeline, readLogFile: read }: RouteOptions): (path: string) => Route | null {
  if (read === null) return () => null;
  const services = { read, places: createPagePlaces(), chargeCpu: pipeline.chargeCpu };
  return (path) => {
    if (!path.startsWith(LOGS_PATH)) return null;
    return counted(pipeline, (exchange) => answerLogFile(exchange, path, services));
  };
}

/** Counts a request before it is answered: many small answers are work, too. */
function counted({ gate }: Pick<Pipeline, 'gate'>, answer: Route): Route {
  return async (exchange) => {
    await gate.admitAddress(exchange.remoteAddress, []);
    await answer(exchange);
  };
}

async function answerGraphql(exchange: Exchange, { pipeline, graphiql }: RouteOptions): Promise<void> {
  const { request, response, remoteAddress } = exchange;
  const context = contextOf(exchange);
  // Node enforces a declared length; a body without one is measured here.
  const isLengthKnown =
    request.headers['transfer-encoding'] === undefined &&
    Number(request.headers['content-length'] ?? 0) <= MAX_GRAPHQL_BODY_BYTES;
  if (isLengthKnown && (await pipeline.post(exchange, context))) return;
  exchange.prepare();
  if (graphiql !== null && request.method === 'GET' && request.headers.accept?.includes('text/html')) {
    await counted(pipeline, () => graphiql(request, response))(exchange);
    return;
  }
  if (!isLengthKnown) {
    const body = await readBody(request, MAX_GRAPHQL_BODY_BYTES);
    if (body === null) {
      response.setHeader('connection', 'close');
      await pipeline.gate.admitAddress(remoteAddress, []);
      answerError(response, 413, 'BAD_REQUEST', `The body is over ${MAX_GRAPHQL_BODY_BYTES} bytes.`);
      return;
    }
    giveBody(request, body);
  }
  await pipeline.handle(request, response, context);
}

function hookRoute(handler: HookHandler, services: HookServices & Pick<Pipeline, 'gate'>): Route {
  const answerOther = counted(services, async ({ response }) => {
    response.setHeader('allow', 'POST');
    answerError(response, 405, 'BAD_REQUEST', 'Deliveries come by POST.');
  });
  return async (exchange) => {
    if (exchange.request.method === 'POST') await answerHook(exchange, handler, services);
    else await answerOther(exchange);
  };
}

/** @throws DomainError OVERLOADED, which is counted, when deliveries come faster than they can be handled */
function withinLimit(handler: HookHandler, deliveries: ConcurrencyLimit): HookHandler {
  return async (delivery) => {
    // Addresses take turns, so that unknown senders can't keep out the indexer and the provider.
    const giveBack = await deliveries.take(addressKey(delivery.remoteAddress));
    return handler(delivery).finally(giveBack);
  };
}

function answerReadiness(response: ServerResponse, { isReady, checks }: Readiness): void {
  answerJson(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready', checks });
}

/** Whether a browser asks for a page. Programs get JSON, as everywhere else. */
function isForBrowser({ method, headers }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && headers.accept?.includes('text/html') === true;
}

async function answerNotFound({ response }: Exchange): Promise<void> {
  answerError(response, 404, 'NOT_FOUND', `There is nothing at this address; the API is at ${GRAPHQL_PATH}.`);
}

function answerFailure(exchange: Exchange, error: unknown, log: RouteOptions['log']): void {
  const { request, response, requestId } = exchange;
  if (hasLeft(request, error)) return;
  if (!response.headersSent && !response.hasHeader('x-request-id')) exchange.prepare();
  const unavailable = databaseUnavailable(error);
  const refusal = error instanceof DomainError ? error : unavailable;
  if (refusal === null || unavailable !== null || response.headersSent) {
    log.error(
      { requestId, path: pathOf(request), err: error },
      `a request failed: ${causeOf(unavailable === null)}`,
    );
  }
  if (refusal !== null && !response.headersSent) {
    answerRefusal(response, refusal);
    return;
  }
  if (response.headersSent) response.destroy();
  else answerError(response, 500, 'INTERNAL_SERVER_ERROR', ERROR_CODES.INTERNAL_SERVER_ERROR, { requestId });
}
