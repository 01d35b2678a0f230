/**
 * Builds the server from its dependencies. Reads no environment, and opens no socket before `listen`.
 */
import { systemClock, type Clock } from '../lib/clock.ts';
import { composePlatform, type ComposeOptions } from './compose.ts';
import { composeAccess } from './composeAccess.ts';
import type { DocumentRules } from '../http/documents/documentSource.ts';
import type { GraphiqlPage } from '../http/pages/graphiql.ts';
import type { MetricsPage } from '../http/server/metricsPage.ts';
import { createHttpServer, type ServerLoad } from '../http/server/server.ts';
import type { AllowedOrigins } from '../http/graphql/yoga.ts';
import type { TokenKey, TokenRules } from '../identity/tokens.ts';
import { defaultLimits, type Limits } from '../limits/limits.ts';
import { cacheAnswer } from '../lib/cacheAnswer.ts';
import { createMetrics, type Metrics } from '../metrics/metrics.ts';
import { createReadiness } from '../http/server/readiness.ts';
import type { RecordCommands } from '../ledger/network/family.ts';
import { createPages } from '../pages/pages.ts';
import type { Site } from '../pages/site.ts';
import { findBroken } from '../reconciliation/lastReconciliation.ts';
import type { Dependencies } from '../resolvers/core/dependencies.ts';
import { listInvariants } from '../resolvers/operations/listInvariants.ts';
import { readOpenWork } from '../resolvers/operations/overdueWork.ts';
import { schema } from '../schema/index.ts';
import { createPayoutHook } from '../webhooks/payoutSettled.ts';
import { createRetirementsHook } from '../webhooks/retirementsHook.ts';
import { createInclusionCheck } from '../transparency/inclusion.ts';
import { createPublishedLogs } from '../transparency/publishedLogs.ts';
import { waitAtMost } from '../lib/timeout.ts';

export interface AppOptions extends ComposeOptions {
  /** The headers that may carry an indexer's signature. */
  signatureHeaders: readonly string[];
  auth: TokenKey & TokenRules;
  allowedOrigins: AllowedOrigins;
  graphiql: GraphiqlPage | null;
  /** Whether clients may ask for the schema; true unless given. */
  introspection?: boolean;
  /** Who reads /metrics without a token: private addresses unless given. */
  metricsAccess?: MetricsPage['access'];
  metricsToken?: MetricsPage['token'];
  /** The commands with which others read a record from their own node; no commands unless given. */
  recordCommands?: RecordCommands | null;
  /** Which documents clients may run; any unless given. */
  documents?: DocumentRules;
  /** The defaults of the settings unless given. */
  limits?: Limits;
}

export interface App {
  dependencies: Dependencies;
  /** Starts the background work. */
  start(): Promise<void>;
  /** @returns the port in use. @throws EADDRINUSE and other errors of the socket */
  listen(port: number, host: string): Promise<number>;
  /**
   * Stops in order: new requests, then the workers, then their dependencies. Work that takes longer than a
   * few seconds is left to the next process, as after a crash.
   */
  stop(): Promise<void>;
}

/** Load balancers ask every instance each second, and the open work changes little in that time. */
const OPEN_WORK_MAX_AGE_MS = 5_000;
/** How long requests may still run when the server stops. */
const STOP_GRACE_MS = 5_000;
/**
 * How long the background work may run after the requests; a step that waits for a silent database or network
 * takes longer.
 */
const STOP_WORK_MS = 3_000;

/** @throws WrongInstallation when the database belongs to another network. */
export async function buildApp(options: AppOptions): Promise<App> {
  const { log, clock = systemClock, introspection = true, limits = defaultLimits() } = options;
  const platform = await composePlatform({ ...options, maxTokenSeconds: options.auth.maxLifetimeSeconds });
  const { dependencies } = platform;
  const access = composeAccess(dependencies, options.auth, limits);
  const openWork = cacheAnswer({ maxAgeMs: OPEN_WORK_MAX_AGE_MS, clock, cachesFailures: true }, () =>
    readOpenWork(dependencies.db),
  );
  const metrics = createMetrics({
    ...dependencies,
    ...access,
    handle: options.handle,
    readOpenWork: openWork,
    listInvariants: () => listInvariants(dependencies),
  });
  const server = createHttpServer({
    schema,
    dependencies,
    ...access,
    limits,
    introspection,
    documents: options.documents,
    allowedOrigins: options.allowedOrigins,
    ownOrigin: new URL(options.publicUrl).origin,
    graphiql: options.graphiql,
    pages: createPages(siteOf(options, dependencies, clock)),
    hooks: {
      retirements: createRetirementsHook(dependencies, options),
      payoutSettled: createPayoutHook(dependencies),
    },
    readLogFile: createPublishedLogs(dependencies),
    readiness: createReadiness({
      db: options.handle.db,
      network: options.network,
      findBroken: () => findBroken(options.handle.db),
      readOpenWork: openWork,
      publicReads: dependencies.publicReads,
      isListening: options.handle.isListening,
    }),
    metrics: metricsPage(options, metrics, () => server.load()),
    observeOperation: metrics.observeOperation,
    observeDelivery: metrics.observeDelivery,
    newRequestId: dependencies.ids.next,
    clock,
    log,
  });

  return {
    dependencies,
    start: platform.start,
    listen: (port, host) => server.listen(port, host),
    async stop() {
      // Followers stop first: their streams would otherwise keep the server from closing.
      dependencies.follower.close();
      dependencies.changeFollower.close();
      // A mutation waits longer for its network than the server waits for its responses. If it were cut off,
      // the audit log would have no outcome for it.
      dependencies.stateSignal.endWaits();
      await server.close(STOP_GRACE_MS);
      const stopWork = access.stop().then(platform.stop);
      if (!(await waitAtMost(STOP_WORK_MS, stopWork))) {
        log.warn({ afterMs: STOP_WORK_MS }, 'stopping without waiting for the background work');
      }
    },
  };
}

function metricsPage(
  { metricsAccess: access = 'private', metricsToken: token }: AppOptions,
  { contentType, read }: Metrics,
  load: () => ServerLoad,
): MetricsPage {
  return { access, token, contentType, read: () => read(load()) };
}

function siteOf(
  { publicUrl, network: { name, networkId }, recordCommands }: AppOptions,
  { logs }: Pick<Dependencies, 'logs'>,
  clock: Clock,
): Site {
  return {
    publicUrl,
    network: { name, networkId },
    recordCommands: recordCommands ? (place) => recordCommands(place, networkId) : null,
    checkInclusion: createInclusionCheck(logs.key, networkId),
    clock,
  };
}
