/**
 * Builds the server from its dependencies. Reads no environment and opens no socket before `listen`.
 */
import { systemClock } from './clock.ts';
import { composePlatform, type ComposeOptions } from './compose.ts';
import { composeAccess } from './composeAccess.ts';
import type { GraphiqlPage } from './http/graphiql.ts';
import { createHttpServer } from './http/server.ts';
import type { AllowedOrigins } from './http/yoga.ts';
import type { TokenKey } from './identity/tokens.ts';
import { defaultLimits, type Limits } from './limits/limits.ts';
import type { Dependencies } from './resolvers/dependencies.ts';
import { schema } from './schema/index.ts';
import { createDeliverySpool } from './webhooks/deliverySpool.ts';
import { createPayoutHook } from './webhooks/payoutSettled.ts';
import { createRetirementsHook, handleDelivery } from './webhooks/retirementsHook.ts';

export interface AppOptions extends ComposeOptions {
  /** The headers that may carry an indexer's signature. */
  signatureHeaders: readonly string[];
  auth: TokenKey & { issuer: string; audience: string };
  allowedOrigins: AllowedOrigins;
  graphiql: GraphiqlPage | null;
  /** Whether clients may ask for the schema; true unless given. */
  introspection?: boolean;
  /** The settings' defaults unless given. */
  limits?: Limits;
  spoolFolder: string;
}

export interface App {
  dependencies: Dependencies;
  /** Begins the background work. */
  start(): Promise<void>;
  /** @returns the port in use. @throws EADDRINUSE and the like */
  listen(port: number, host: string): Promise<number>;
  /** Ends what runs, in order: no new requests, then the workers, then what they use. */
  stop(): Promise<void>;
}

/** What runs when the server stops is given this long. */
const STOP_GRACE_MS = 5_000;

/** @throws WrongInstallation when the database belongs to another network. */
export async function buildApp(options: AppOptions): Promise<App> {
  const { log, clock = systemClock, introspection = true, limits = defaultLimits() } = options;
  const platform = await composePlatform(options);
  const { dependencies } = platform;
  const access = composeAccess(dependencies, options.auth, limits);
  const spool = createDeliverySpool({ folder: options.spoolFolder, ids: dependencies.ids, log });
  const server = createHttpServer({
    schema,
    dependencies,
    ...access,
    limits,
    introspection,
    allowedOrigins: options.allowedOrigins,
    graphiql: options.graphiql,
    hooks: {
      retirements: createRetirementsHook(dependencies, { signatureHeaders: options.signatureHeaders, spool }),
      payoutSettled: createPayoutHook(dependencies),
    },
    readiness: () => readiness(options),
    newRequestId: dependencies.ids.next,
    clock,
    log,
  });

  return {
    dependencies,
    async start() {
      await platform.start();
      spool.start((delivery) => handleDelivery(dependencies, delivery));
    },
    listen: (port, host) => server.listen(port, host),
    async stop() {
      // Followers first: their streams would otherwise keep the server from closing.
      dependencies.follower.close();
      await server.close(STOP_GRACE_MS);
      await access.stop();
      await spool.stop();
      await platform.stop();
    },
  };
}

/** Can this instance serve? It needs its database, and its network for everything that moves value. */
async function readiness({ handle, network }: AppOptions) {
  const checks: Record<string, string> = {};
  const check = async (name: string, probe: () => Promise<unknown>) => {
    checks[name] = await probe().then(
      () => 'ok',
      () => 'unreachable',
    );
  };
  await Promise.all([
    check('database', () => handle.sql`SELECT 1`),
    check('network', () => network.status()),
  ]);
  return { isReady: Object.values(checks).every((result) => result === 'ok'), checks };
}
