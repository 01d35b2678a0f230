/**
 * Runs an indexer over a store of events: its REST interface on loopback, and its deliveries.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { hasBearer } from '../../lib/hasBearer.ts';
import { startDispatcher } from './dispatcher.ts';
import type { DispatcherOptions } from './dispatcher.ts';
import { answerRequest } from './routes.ts';
import type { Answer } from './routes.ts';
import type { IndexerStore } from './store.ts';

export interface IndexerOptions extends Omit<DispatcherOptions, 'store' | 'timeoutMs' | 'pollMs'> {
  store: IndexerStore;
  /** The bearer token that a client has to send; null for an indexer that any client may ask. */
  token: string | null;
  /** Time-out of one delivery; 5 seconds by default. */
  deliveryTimeoutMs?: number;
  /** How often it reads events without a notification; 10 seconds by default. */
  pollMs?: number;
}

export interface RunningIndexer {
  /** The value for `createIndexerClient` and INDEXER_URL. */
  url: string;
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
const DEFAULT_DELIVERY_TIMEOUT_MS = 5_000;
const DEFAULT_POLL_MS = 10_000;
/** A registration is a few hundred bytes from the same machine. */
const REQUEST_TIMEOUT_MS = 10_000;
/** The indexer's only client is the server that started it. */
const MAX_CONNECTIONS = 100;

/** Starts at once, with the events published while no indexer ran. */
export async function serveIndexer(options: IndexerOptions): Promise<RunningIndexer> {
  const { store, onError } = options;
  const dispatcher = await startDispatcher({
    ...options,
    timeoutMs: options.deliveryTimeoutMs ?? DEFAULT_DELIVERY_TIMEOUT_MS,
    pollMs: options.pollMs ?? DEFAULT_POLL_MS,
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      // Every user of this machine reaches loopback.
      if (options.token !== null && !hasBearer(request, options.token)) {
        writeAnswer(response, { status: 401, body: { error: 'The bearer token is missing or wrong' } });
        return;
      }
      writeAnswer(response, await answerRequest(store, request));
    } catch (error) {
      onError('The indexer failed to answer a request', error);
      writeAnswer(response, {
        status: 503,
        body: { ok: false, error: 'The indexer can’t answer right now' },
      });
    }
  }

  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    void serve(request, response);
  });
  server.maxConnections = MAX_CONNECTIONS;
  try {
    return { url: await listen(server), stop: () => stopAll(server, dispatcher) };
  } catch (error) {
    await dispatcher.stop();
    throw error;
  }
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, LOOPBACK, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The indexer has no port');
  return `http://${LOOPBACK}:${address.port}`;
}

async function stopAll(server: Server, dispatcher: { stop(): Promise<void> }): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await Promise.all([closed, dispatcher.stop()]);
}

function writeAnswer(response: ServerResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(answer.body);
  response.writeHead(answer.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}
