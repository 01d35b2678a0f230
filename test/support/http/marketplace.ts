/**
 * The whole server as clients use it: real HTTP and websockets, the embedded network, and its indexer, which
 * delivers signed webhooks over HTTP.
 */
import { randomBytes } from 'node:crypto';
import { createClient, type Client } from 'graphql-ws';
import { WebSocket } from 'ws';
import { buildApp, type App, type AppOptions } from '../../../src/startup/app.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import type { Role } from '../../../src/identity/roles.ts';
import { signToken } from '../../../src/identity/tokens.ts';
import { startEmbeddedIndexer } from '../../../src/indexer/embedded/startEmbeddedIndexer.ts';
import type { EmbeddedNetwork } from '../embeddedNetwork.ts';
import { createTestDatabase, openAsApplication, type TestDatabase } from '../database/database.ts';
import { silentLog } from '../../../devnet/platform.ts';
import { embeddedNetworkOn } from '../platform.ts';
import { warehouseOptions } from '../../../devnet/platform.ts';
import { testLimits } from './httpServer.ts';

const secret = 'a bearer secret for tests of more than 32 bytes';
export const auth = {
  secret,
  secrets: [secret],
  issuer: 'tests',
  audience: 'tests',
};

export interface TestCaller {
  role: Role;
  subject: string;
}

export interface Answer<T> {
  status: number;
  data: T | null;
  errors: {
    message: string;
    path?: (string | number)[];
    extensions: Record<string, unknown> & { code: string };
  }[];
}

export interface Marketplace {
  url: string;
  app: App;
  network: EmbeddedNetwork;
  database: TestDatabase;
  /** Sends an operation as a caller with one role; null for the public. */
  send<T = Record<string, unknown>>(
    query: string,
    variables?: Record<string, unknown>,
    caller?: TestCaller | null,
  ): Promise<Answer<T>>;
  socket(caller?: TestCaller): Client;
  stop(): Promise<void>;
}

export interface MarketplaceOptions extends Partial<AppOptions> {
  /** Whether the embedded indexer runs; without it nothing is delivered. */
  withIndexer?: boolean;
  wrapNetwork?: (network: EmbeddedNetwork) => EmbeddedNetwork;
  /** The database of another instance, which drops it. */
  database?: TestDatabase;
}

export async function startMarketplace(options: MarketplaceOptions = {}): Promise<Marketplace> {
  const {
    withIndexer = true,
    database: shared,
    wrapNetwork = (n: EmbeddedNetwork) => n,
    ...overrides
  } = options;
  const database = shared ?? (await createTestDatabase());
  const handle = shared?.handle ?? openAsApplication(database);
  const network = await embeddedNetworkOn(handle);
  const onError = () => {};
  const indexer = withIndexer
    ? await startEmbeddedIndexer({
        handle,
        clock: systemClock,
        randomBytes,
        // The server's own setting.
        takesMany: () => true,
        onError,
      })
    : null;
  // The port is chosen first, because the public address is an option of the app.
  const port = await freePort();
  const app = await buildApp({
    handle,
    network: wrapNetwork(network),
    clockControl: network,
    indexerUrl: indexer?.url ?? 'http://127.0.0.1:9',
    indexerToken: indexer?.token,
    publicUrl: `http://127.0.0.1:${port}`,
    signatureHeaders: ['x-service-signature', 'x-ankara-signature'],
    appSecret: 'an application secret for tests alone',
    auth,
    allowedOrigins: [],
    graphiql: null,
    mutationWaitMs: 20_000,
    feedCompareIntervalMs: 600_000,
    ...warehouseOptions,
    limits: testLimits(),
    log: silentLog,
    ...overrides,
  });
  await app.listen(port, '127.0.0.1');
  await app.start();
  const url = `http://127.0.0.1:${port}/graphql`;
  const sockets: Client[] = [];

  return {
    url,
    app,
    network,
    database,
    send: (query, variables = {}, caller = null) => sendOver(url, query, variables, caller),
    socket(caller) {
      const client = createClient({
        url: url.replace('http', 'ws'),
        webSocketImpl: WebSocket,
        retryAttempts: 0,
        connectionParams: async () => (caller ? { authorization: `Bearer ${await tokenOf(caller)}` } : {}),
      });
      sockets.push(client);
      return client;
    },
    async stop() {
      for (const socket of sockets) await socket.dispose();
      await app.stop();
      await indexer?.stop();
      if (shared === undefined) {
        await handle.close();
        await database.drop();
      }
    },
  };
}

export function tokenOf(
  { role, subject }: TestCaller,
  { expiresInSeconds = 3600, now = systemClock.now, ...claims }: TokenOptions = {},
): Promise<string> {
  return signToken({ ...auth, subject, roles: [role], expiresInSeconds, now, ...claims });
}

interface TokenOptions {
  expiresInSeconds?: number;
  jti?: string;
  /** The time of issue. */
  now?: () => Date;
}

async function sendOver<T>(
  url: string,
  query: string,
  variables: Record<string, unknown>,
  caller: TestCaller | null,
): Promise<Answer<T>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/graphql-response+json',
      ...(caller ? { authorization: `Bearer ${await tokenOf(caller)}` } : {}),
    },
    body: JSON.stringify({ query, variables }),
  });
  const body = (await response.json()) as { data?: T | null; errors?: Answer<T>['errors'] };
  return { status: response.status, data: body.data ?? null, errors: body.errors ?? [] };
}
