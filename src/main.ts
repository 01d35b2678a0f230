/**
 * Process entry: config → database → network → app → listen; and an ordered stop on a signal.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { buildApp, type App } from './app.ts';
import { systemClock } from './clock.ts';
import { isRunByNpm, loadConfig, type Config } from './config.ts';
import { signDevelopmentToken } from './developmentTokens.ts';
import { createGraphiqlPage } from './http/graphiql.ts';
import { startEmbeddedIndexer } from './indexer/embedded/startEmbeddedIndexer.ts';
import { limitsOf } from './limits/limits.ts';
import { createLogger, type Logger } from './logger.ts';
import { openConfiguredDatabase, type ConfiguredDatabase } from './openDatabase.ts';
import { openConfiguredNetwork } from './openNetwork.ts';
import { isLoopback } from './privateHost.ts';
import { isWatching, watchRetirements } from './resolvers/watchRetirements.ts';
import { GRAPHIQL_EXAMPLES } from './schema/examples.ts';
import { explainStartupError } from './startupErrors.ts';
import { warehouseOptionsOf } from './warehouseOptions.ts';
import { welcome } from './welcome.ts';

/** What has been opened, newest last: closed in the opposite order. */
type Stops = (() => Promise<void>)[];

/** A stop that takes longer hangs; the database recovers by itself from what is cut off then. */
const STOP_TIMEOUT_MS = 30_000;
const PARENT_CHECK_MS = 500;

async function main(): Promise<void> {
  const config = await loadConfig();
  const log = createLogger({ level: config.LOG_LEVEL, pretty: process.stdout.isTTY });
  const stops: Stops = [];
  const started = start(config, log, stops);
  stopOnDemand(async () => {
    // What is half open can't be closed.
    await started.catch(() => {});
    await stopAll(stops);
  }, log);
  try {
    await started;
  } catch (error) {
    await stopAll(stops);
    throw error;
  }
}

async function start(config: Config, log: Logger, stops: Stops): Promise<void> {
  const database = await openConfiguredDatabase(config);
  stops.push(database.stop);
  const { network, embeddedControls } = await openConfiguredNetwork(config, database.handle, log);
  const hasOwnIndexer = config.INDEXER_URL === undefined && config.ledger.family === 'embedded';
  const indexerUrl = hasOwnIndexer ? await startIndexer(database, log, stops) : (config.INDEXER_URL ?? null);
  const app = await buildApp({
    handle: database.handle,
    network,
    embeddedControls,
    indexerUrl,
    publicUrl: config.PUBLIC_URL,
    signatureHeaders: config.INDEXER_SIGNATURE_HEADERS,
    appSecret: config.APP_SECRET,
    auth: {
      ...tokenKey(config),
      issuer: config.AUTH_ISSUER,
      audience: config.AUTH_AUDIENCE,
    },
    allowedOrigins: originsOf(config),
    graphiql: config.GRAPHIQL ? createGraphiqlPage(await graphiqlOptions(config)) : null,
    introspection: config.INTROSPECTION,
    limits: limitsOf(config),
    spoolFolder: join(config.DATA_DIR, 'spool'),
    ...warehouseOptionsOf(config),
    mutationWaitMs: config.MUTATION_WAIT_MS,
    healIntervalMs: config.HEAL_INTERVAL_MS,
    log,
  });
  stops.push(app.stop);
  // Listening comes first: a taken port should not have let work begin.
  const port = await app.listen(config.PORT, config.HOST);
  await app.start();
  if (hasOwnIndexer) await watchEmbeddedIndexer(app, log);
  else await tellOfMissingDeliveries(app, indexerUrl, config, log);
  process.stdout.write(await welcome({ config, port, database, network, indexerUrl }));
}

async function startIndexer(database: ConfiguredDatabase, log: Logger, stops: Stops): Promise<string> {
  const indexer = await startEmbeddedIndexer({
    handle: database.handle,
    clock: systemClock,
    randomBytes,
    onError: (message, err) => log.warn({ err }, message),
  });
  stops.push(indexer.stop);
  return indexer.url;
}

/** On embedded defaults nobody has to know about registrations before the feed is live. */
async function watchEmbeddedIndexer({ dependencies }: App, log: Logger): Promise<void> {
  if (await isWatching(dependencies)) return;
  const { webhookId } = await watchRetirements(dependencies);
  log.info({ webhookId }, 'registered with the embedded indexer');
}

/** Without deliveries nothing is lost: the feed is only later to hear of what others retire. */
async function tellOfMissingDeliveries(
  { dependencies }: App,
  indexerUrl: string | null,
  { HEAL_INTERVAL_MS: healIntervalMs }: Config,
  log: Logger,
): Promise<void> {
  if (indexerUrl === null) {
    log.warn(
      { healIntervalMs },
      'INDEXER_URL is not set: the feed looks for retirements by others by itself',
    );
  } else if (!(await isWatching(dependencies))) {
    log.warn(
      { indexer: new URL(indexerUrl).host },
      'the indexer delivers nothing to this address yet: call watchRetirements',
    );
  }
}

function tokenKey(config: Config): { secret: string } | { jwksUrl: string } {
  return config.AUTH_SECRET === null
    ? { jwksUrl: config.AUTH_JWKS_URL ?? '' }
    : { secret: config.AUTH_SECRET };
}

function originsOf({ ALLOWED_ORIGINS: origins }: Config): '*' | readonly string[] {
  return origins?.includes('*') ? '*' : (origins ?? []);
}

/**
 * GraphiQL comes with an administrator's token on embedded defaults, so that every example works at once. Not
 * when others than this machine could load the page, and with it the token.
 */
async function graphiqlOptions(config: Config) {
  const isTokenShown = config.hasDevelopmentTokens && isLoopback(config.HOST);
  const token = isTokenShown ? await signDevelopmentToken(config, 'admin', 'graphiql') : null;
  return { examples: GRAPHIQL_EXAMPLES, token };
}

/** On a signal, or after a defect that nothing caught: the state is unknown then, and a new process recovers it. */
function stopOnDemand(stop: () => Promise<void>, log: Logger): void {
  let isStopping = false;
  const stopWith = (exitCode: number) => {
    // A terminal's Ctrl-C reaches us twice, directly and through npm.
    if (isStopping) return;
    isStopping = true;
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
    stop().then(
      () => process.exit(exitCode),
      (err: unknown) => {
        log.error({ err }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      log.info({ signal }, 'stopping');
      stopWith(0);
    });
  }
  if (isRunByNpm()) {
    onParentGone(() => {
      log.info('stopping: npm, which ran this, has ended');
      stopWith(0);
    });
  }
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'stopping after a defect that nothing caught');
    stopWith(1);
  });
}

/** npm hands a SIGTERM to the shell between us, which ends by it and tells nobody. */
function onParentGone(callback: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, PARENT_CHECK_MS);
  timer.unref();
}

async function stopAll(stops: Stops): Promise<void> {
  for (let stop = stops.pop(); stop; stop = stops.pop()) await stop();
}

try {
  await main();
} catch (error) {
  const sentence = explainStartupError(error);
  process.stderr.write(`${sentence ?? String(error instanceof Error ? error.stack : error)}\n`);
  process.exitCode = 1;
  // What could not be closed must not keep a failed start alive.
  setTimeout(() => process.exit(1), 1000).unref();
}
