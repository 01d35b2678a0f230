/**
 * The HTTP server: connection limits, request ids, websocket upgrades, and an ordered stop.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { addressKey } from '../../lib/addressKey.ts';
import { clientAddressOf } from '../../limits/clientAddress.ts';
import { createCounters } from '../../limits/counters.ts';
import type { Limits } from '../../limits/limits.ts';
import { overloaded } from '../../lib/concurrencyLimit.ts';
import type { DomainError } from '../../lib/errors.ts';
import { answerError, answerRefusal } from './answers.ts';
import { createCompression } from './compression.ts';
import { limitConnections } from './connectionLimits.ts';
import { ignoreOtherUpgrades } from './otherUpgrades.ts';
import { limitPipelining } from './pipelining.ts';
import { exchangeOf } from './exchange.ts';
import { createRouter, type RouteOptions } from './routes.ts';
import { pathOf } from './requestTarget.ts';
import { endStalledSockets } from '../websocket/stalledSockets.ts';
import { createWebsocketServer } from '../websocket/websocket.ts';
import { refuseUpgrade } from './refuseUpgrade.ts';
import { STREAM_TYPES } from '../graphql/unbufferedStreams.ts';
import { createPipeline, GRAPHQL_PATH, type PipelineOptions } from '../graphql/yoga.ts';
import { createTurns } from './turns.ts';
import { waitAtMost } from '../../lib/timeout.ts';

/** A client that trickles its request in holds a connection at most this long. */
const REQUEST_TIMEOUTS: RequestTimeouts = { headersMs: 10_000, requestMs: 30_000, checkMs: 2_500 };
/** Over the 60 s of common load balancers, so that they close first and no request races the close. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const MAX_HEADER_BYTES = 16 * 1024;

/** A request computes for some 0.04 ms before it first waits, so a full turn delays others by some 2.6 ms. */
const REQUESTS_PER_TURN = 64;
/** A client that waits for longer may have given up. */
const TURN_WAIT_MS = 10_000;

export interface HttpServerOptions extends PipelineOptions, Omit<RouteOptions, 'pipeline' | 'log'> {
  newRequestId: () => string;
  /**
   * Origin of the server's own pages, as browsers know it. A proxy may put another name into the Host header.
   */
  ownOrigin?: string;
  log: RouteOptions['log'] & PipelineOptions['log'];
  /** How long a client may read nothing of its pending output; SOCKET_STALL_MS by default. */
  socketStallMs?: number;
  /** How long a request may take to arrive; REQUEST_TIMEOUTS by default. */
  requestTimeouts?: RequestTimeouts;
}

interface RequestTimeouts {
  headersMs: number;
  requestMs: number;
  /** How often the time-outs are checked: a client may exceed them by this much. */
  checkMs: number;
}

/** What is open at the moment. */
export interface ServerLoad {
  unfinishedRequests: number;
  sockets: number;
  subscriptions: number;
}

interface HttpServer {
  /** Resolves with the port in use. @throws EADDRINUSE and the like */
  listen(port: number, host: string): Promise<number>;
  /** Refuses new connections, closes websockets, waits up to `graceMs` for all answers, then closes all. */
  close(graceMs: number): Promise<void>;
  load(): ServerLoad;
}

/** Characters that would turn a part of the Host header into the user, path, query or fragment of the URL. */
const MORE_THAN_HOST = /[@/\\?#]/;

/**
 * The last valid Host header. Nearly all requests repeat it, and parsing one costs as much as parsing a small
 * body.
 */
let goodHost = '';

/** What is wrong with the Host header and what to do, or null. */
function problemOfHost(request: IncomingMessage): string | null {
  // A proxy may use one Host header, and the server behind it the other.
  if (countHosts(request) > 1) return 'There is more than one Host header: send one.';
  const { host } = request.headers;
  // HTTP/1.0 does not require the header.
  if (host === undefined && request.httpVersion !== '1.1') return null;
  if (host === undefined) return 'There is no Host header: send the host and port of this server.';
  // The URL of the request is made of the header; an invalid one throws.
  if (host === '' || host === goodHost) return null;
  if (!MORE_THAN_HOST.test(host) && URL.canParse(`http://${host}`)) {
    goodHost = host;
    return null;
  }
  return `The Host header is no host and port: ${JSON.stringify(host.slice(0, 100))}. Send those of this server.`;
}

function countHosts({ rawHeaders }: IncomingMessage): number {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { limits, requestTimeouts: timeouts = REQUEST_TIMEOUTS } = options;
  const pipeline = createPipeline(options);
  const remoteAddressOf = (request: IncomingMessage) => clientAddressOf(request, limits.TRUSTED_PROXY_HOPS);
  const websockets = createWebsocketServer({ ...options, pipeline, remoteAddressOf });
  const route = createRouter({ ...options, pipeline });
  const compressAnswer = createCompression();
  const unfinished = createCounters(limits.MAX_CONNECTIONS, limits.MAX_CONNECTIONS_PER_ADDRESS);
  // Each waiting request is one of the unfinished requests, which are limited; its body is not read yet.
  const awaitTurn = createTurns({
    perTurn: REQUESTS_PER_TURN,
    maxWaiting: limits.MAX_CONNECTIONS,
    waitMs: TURN_WAIT_MS,
  });
  const { server, awaited } = createLimitedServer(timeouts, limits);
  endStalledSockets(server, options.socketStallMs);

  server.on('request', (request, response) => {
    const remoteAddress = remoteAddressOf(request);
    const address = addressKey(remoteAddress);
    const finish = unfinished.open(address);
    if (finish !== null) response.on('close', finish);
    const about = { requestId: options.newRequestId(), remoteAddress };
    const exchange = exchangeOf(request, response, about, compressAnswer);
    const refuse = (error: DomainError) => {
      exchange.prepare();
      answerRefusal(response, error);
    };
    const problem = problemOfHost(request);
    if (finish === null) refuse(overloaded());
    else if (problem !== null) {
      exchange.prepare();
      answerError(response, 400, 'BAD_REQUEST', problem);
    } else {
      void awaitTurn(address).then(() => route(exchange), refuse);
    }
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // A connection that breaks before the upgrade is not a failure.
    socket.on('error', () => undefined);
    const refusal = refusalOfUpgrade(request, options);
    if (refusal === null) websockets.upgrade(request, socket, head);
    else refuseUpgrade(socket, refusal);
  });

  return {
    listen: (port, host) => listen(server, port, host),
    close: async (graceMs) => {
      const closeAt = performance.now() + graceMs;
      awaited.endConnections();
      await closeServer(server, async () => {
        await websockets.close(graceMs);
        await awaitAnswers(awaited.list, closeAt);
      });
    },
    load: () => ({
      unfinishedRequests: unfinished.total,
      sockets: websockets.openSockets(),
      subscriptions: pipeline.openSubscriptions(),
    }),
  };
}

function createLimitedServer(timeouts: RequestTimeouts, limits: Limits) {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: timeouts.requestMs,
    headersTimeout: timeouts.headersMs,
    connectionsCheckingInterval: timeouts.checkMs,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Node itself would answer a request without the header, and not count it: thousands may come in one
    // packet. problemOfHost refuses such a request instead.
    requireHostHeader: false,
  });
  // Node would also answer expectations other than 100-continue, which a server may ignore (RFC 9110,
  // 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  limitConnections(server, limits);
  ignoreOtherUpgrades(server);
  return { server, awaited: limitPipelining(server, limits) };
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  await once(server.listen(port, host), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Takes no new connections, and closes the open ones when `awaitOpen` has resolved. */
async function closeServer(server: Server, awaitOpen: () => Promise<unknown>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  await awaitOpen();
  server.closeAllConnections();
  await closed;
}

/**
 * Waits for all answers, those to later requests included, but not longer than until `closeAt`. Streams are
 * not awaited, because they do not end: their clients reconnect and resume from their cursor.
 */
async function awaitAnswers(awaited: () => readonly ServerResponse[], closeAt: number): Promise<void> {
  let leftMs = closeAt - performance.now();
  while (leftMs > 0) {
    const answers = awaited().filter(
      (response) => !STREAM_TYPES.test(String(response.getHeader('content-type'))),
    );
    if (answers.length === 0) return;
    const closed = answers.map((answer) => new Promise((resolve) => answer.once('close', resolve)));
    await waitAtMost(leftMs, Promise.all(closed));
    leftMs = closeAt - performance.now();
  }
}

/** The status line for a refused upgrade, or null. */
function refusalOfUpgrade(
  request: IncomingMessage,
  { allowedOrigins, ownOrigin }: Pick<HttpServerOptions, 'allowedOrigins' | 'ownOrigin'>,
): string | null {
  if (pathOf(request) !== GRAPHQL_PATH) return '404 Not Found';
  if (problemOfHost(request) !== null) return '400 Bad Request';
  const { origin } = request.headers;
  // Browsers always send their origin; other clients need no protection from cross-site requests.
  if (origin === undefined || allowedOrigins === '*' || allowedOrigins.includes(origin)) return null;
  return origin === ownOrigin || isSameOrigin(origin, request.headers.host) ? null : '403 Forbidden';
}

function isSameOrigin(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host;
}
