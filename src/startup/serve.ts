/**
 * The server: config → database → network → app → listen. The caller closes what is opened.
 */
import { randomBytes } from 'node:crypto';
import { buildApp, type App, type AppOptions } from './app.ts';
import { systemClock } from '../lib/clock.ts';
import type { Config } from '../config/config.ts';
import { composeOptionsOf } from './composeOptions.ts';
import { signDevelopmentToken } from './developmentTokens.ts';
import { isTransient } from '../db/transientFailures.ts';
import { checkPort } from '../http/server/checkPort.ts';
import type { DocumentRules } from '../http/documents/documentSource.ts';
import { readTrustedDocuments } from '../http/documents/trustedDocuments.ts';
import { createGraphiqlPage } from '../http/pages/graphiql.ts';
import { startEmbeddedIndexer } from '../indexer/embedded/startEmbeddedIndexer.ts';
import { retirementsHookUrlOf } from '../lib/hookUrls.ts';
import { hasEmbeddedIndexer, type ClockControl } from '../ledger/network/family.ts';
import { familyOf } from '../ledger/network/families.ts';
import type { Logger } from '../lib/logger.ts';
import { openConfiguredDatabase, type ConfiguredDatabase } from './openDatabase.ts';
import { openConfiguredNetwork } from './openNetwork.ts';
import { isLoopback } from '../lib/hosts.ts';
import type { Stops } from './runProcess.ts';
import { findRegistration, watchRetirements } from '../resolvers/operations/watchRetirements.ts';
import { ROLES } from '../identity/roles.ts';
import type { TokenKey } from '../identity/tokens.ts';
import { GRAPHIQL_EXAMPLES } from '../schema/examples.ts';
import { schema } from '../schema/index.ts';
import { welcome } from './welcome.ts';

interface ServeOptions {
  config: Config;
  log: Logger;
  /** Receives the functions that close what is opened, newest last. */
  stops: Stops;
  /** The clock of a network whose time may be moved; the embedded network has its own. */
  clockControl?: ClockControl;
  /**
   * Registers with the indexer at the start, as with the embedded one. False by default, because operators
   * decide it.
   */
  watchesAtOnce?: boolean;
  /** For crash tests; the product leaves it out. */
  crashPoint?: AppOptions['crashPoint'];
}

export async function serve(options: ServeOptions): Promise<void> {
  const { config, log, stops } = options;
  await checkPort(config.PORT, config.HOST);
  const onProgress = (message: string) => log.info(message);
  const database = await openConfiguredDatabase(config, { olderSchema: 'migrate', onProgress, log });
  stops.push(database.stop);
  for (const warning of database.warnings) log.warn(warning);
  const opened = await openConfiguredNetwork(config, database.handle, log);
  const { network } = opened;
  const clockControl = options.clockControl ?? opened.clockControl;
  const family = familyOf(config.ledger);
  const hasOwnIndexer = config.INDEXER_URL === undefined && hasEmbeddedIndexer(family);
  const indexer = hasOwnIndexer
    ? await startIndexer(database, retirementsHookUrlOf(config.PUBLIC_URL), log, stops)
    : { url: config.INDEXER_URL ?? null, token: config.INDEXER_TOKEN };
  const indexerUrl = indexer.url;
  const app = await buildApp({
    ...(await configuredOptions(config, log)),
    recordCommands: family.recordCommands,
    handle: database.handle,
    publicReads: database.publicReads,
    network,
    clockControl,
    indexerUrl,
    indexerToken: indexer.token,
    log,
    ...(options.crashPoint && { crashPoint: options.crashPoint }),
  });
  stops.push(app.stop);
  // The server listens first: if the port was taken in the meantime, no work has begun.
  const port = await app.listen(config.PORT, config.HOST);
  await app.start();
  const registers = hasOwnIndexer || options.watchesAtOnce;
  await (registers ? watchIndexer(app, log) : warnOfMissingDeliveries(app, indexerUrl, config, log)).catch(
    (err: unknown) => {
      // The server already serves, and without deliveries the feed is only later.
      if (!isTransient(err)) throw err;
      log.warn(
        { err },
        'the registration with the indexer is not known: call watchRetirements if there is none',
      );
    },
  );
  process.stdout.write(
    await welcome({ config, port, database, network, indexerUrl, isTimeMovable: clockControl !== undefined }),
  );
}

/** The options of the app that only the configuration decides. */
async function configuredOptions(config: Config, log: Logger) {
  return {
    ...composeOptionsOf(config),
    signatureHeaders: config.INDEXER_SIGNATURE_HEADERS,
    auth: {
      ...tokenKey(config),
      issuer: config.AUTH_ISSUER,
      audience: config.AUTH_AUDIENCE,
      maxLifetimeSeconds: config.AUTH_MAX_TOKEN_SECONDS,
    },
    allowedOrigins: originsOf(config),
    graphiql: config.GRAPHIQL ? createGraphiqlPage(await graphiqlOptions(config)) : null,
    introspection: config.INTROSPECTION,
    metricsAccess: config.METRICS_ACCESS,
    metricsToken: config.METRICS_TOKEN,
    documents: await documentRules(config, log),
    limits: config,
    approvalPolicy: {
      isRequired: config.APPROVALS === 'required',
      aboveTonnes: BigInt(config.APPROVAL_ABOVE_TONNES),
      aboveKilograms: BigInt(config.APPROVAL_ABOVE_KILOGRAMS),
      lifetimeSeconds: config.APPROVAL_SECONDS,
    },
    mutationWaitMs: config.MUTATION_WAIT_MS,
  } satisfies Partial<AppOptions>;
}

/** @param hookUrl the hook of this server, which takes several events at once */
async function startIndexer(database: ConfiguredDatabase, hookUrl: string, log: Logger, stops: Stops) {
  const indexer = await startEmbeddedIndexer({
    handle: database.handle,
    clock: systemClock,
    randomBytes,
    takesMany: (url) => url === hookUrl,
    onError: (message, err) => log.warn({ err }, message),
  });
  stops.push(indexer.stop);
  return indexer;
}

/** Without the registration, the feed would learn of other accounts' retirements only in its own rounds. */
async function watchIndexer({ dependencies }: App, log: Logger): Promise<void> {
  if ((await findRegistration(dependencies))?.isCurrent) return;
  const { webhookId } = await watchRetirements(dependencies);
  log.info({ webhookId }, 'registered with the indexer');
}

/** Without deliveries nothing is lost: the feed only learns later of other accounts' retirements. */
async function warnOfMissingDeliveries(
  { dependencies }: App,
  indexerUrl: string | null,
  { FEED_COMPARE_INTERVAL_MS: feedCompareIntervalMs }: Config,
  log: Logger,
): Promise<void> {
  if (indexerUrl === null) {
    log.warn(
      { feedCompareIntervalMs },
      'INDEXER_URL is not set: the feed looks for retirements by others by itself',
    );
  } else if (!(await findRegistration(dependencies))?.isCurrent) {
    log.warn(
      { indexer: new URL(indexerUrl).host },
      'the indexer delivers nothing to this address yet: call watchRetirements',
    );
  }
}

/**
 * A document that does not fit the schema is logged and kept: only the application that sends it is affected.
 */
async function documentRules(config: Config, log: Logger): Promise<DocumentRules> {
  const { DOCUMENTS: which, TRUSTED_DOCUMENTS: path } = config;
  const trusted = path === undefined ? null : await readTrustedDocuments(path);
  for (const problem of trusted?.problems(schema) ?? []) {
    log.warn({ path, problem }, 'a trusted document does not fit the schema');
  }
  if (trusted !== null) log.info({ path, documents: trusted.size, which }, 'read the trusted documents');
  return { trusted, trustedOnly: which === 'trusted' };
}

function tokenKey(config: Config): TokenKey {
  return config.AUTH_SECRETS === null
    ? { jwksUrl: config.AUTH_JWKS_URL ?? '' }
    : { secrets: config.AUTH_SECRETS };
}

function originsOf({ ALLOWED_ORIGINS: origins }: Config): '*' | readonly string[] {
  return origins?.includes('*') ? '*' : (origins ?? []);
}

/**
 * With embedded defaults, GraphiQL contains the tokens of all roles, so that every example works at once. It
 * contains none if other machines than this one can load the page, and the tokens with it.
 */
export async function graphiqlOptions(config: Config) {
  const areTokensShown = config.hasDevelopmentTokens && isLoopback(config.HOST);
  const tokens = await Promise.all(
    (areTokensShown ? ROLES : []).map(
      async (role) => [role, await signDevelopmentToken(config, role)] as const,
    ),
  );
  return { examples: GRAPHIQL_EXAMPLES, tokens: Object.fromEntries(tokens) };
}
