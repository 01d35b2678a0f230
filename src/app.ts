/**
 * Builds the server from its dependencies. Reads no environment and opens no socket before `listen`.
 */
import { randomBytes } from 'node:crypto';
import { systemClock, createIdSource, type Clock } from './clock.ts';
import { claimInstallation } from './db/claimInstallation.ts';
import type { DatabaseHandle } from './db/connection.ts';
import { openDoorbell } from './db/doorbell.ts';
import { createFeedFollower } from './feed/followFeed.ts';
import { createHealer } from './feed/healer.ts';
import type { GraphiqlPage } from './http/graphiql.ts';
import { createHttpServer } from './http/server.ts';
import type { AllowedOrigins } from './http/yoga.ts';
import { createTokenVerifier, type TokenKey } from './identity/tokens.ts';
import { createIndexerClient } from './indexer/client.ts';
import type { LedgerNetwork } from './ledger/network/port.ts';
import type { Checkpoint, SubmissionDependencies } from './ledger/submission/submission.ts';
import { createSubmissionWorker } from './ledger/submission/worker.ts';
import type { Logger } from './logger.ts';
import type { Dependencies } from './resolvers/dependencies.ts';
import { deployEffects, mintEffects } from './resolvers/projectEffects.ts';
import { retireEffects } from './resolvers/retirementEffects.ts';
import { schema } from './schema/index.ts';
import { createSealer, deriveKey } from './sealer.ts';
import { createDeliverySpool } from './webhooks/deliverySpool.ts';
import { createRetirementsHook, handleDelivery } from './webhooks/retirementsHook.ts';

export interface AppOptions {
  handle: DatabaseHandle;
  network: LedgerNetwork;
  indexerUrl: string;
  /** Where the indexer reaches this server; never taken from a request. */
  publicUrl: string;
  signatureHeaders: readonly string[];
  appSecret: string;
  auth: TokenKey & { issuer: string; audience: string };
  allowedOrigins: AllowedOrigins;
  graphiql: GraphiqlPage | null;
  spoolFolder: string;
  mutationWaitMs: number;
  healIntervalMs: number;
  log: Logger;
  clock?: Clock;
  random?: (size: number) => Uint8Array;
  /** For crash tests; the product leaves it out. */
  checkpoint?: (point: Checkpoint) => Promise<void>;
}

export interface App {
  dependencies: Dependencies;
  /** Begins the background work: submission, feed, healing. */
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
  const { handle, network, log } = options;
  const clock = options.clock ?? systemClock;
  await claimInstallation(handle.db, network, clock);
  const dependencies = await buildDependencies(options, clock);
  const worker = createSubmissionWorker(dependencies.submission);
  const spool = createDeliverySpool({ folder: options.spoolFolder, ids: dependencies.ids, log });
  const server = createHttpServer({
    schema,
    dependencies,
    verifyToken: createTokenVerifier({ ...options.auth, now: clock.now }),
    allowedOrigins: options.allowedOrigins,
    graphiql: options.graphiql,
    hooks: {
      retirements: createRetirementsHook(dependencies, { signatureHeaders: options.signatureHeaders, spool }),
      payoutSettled: async () => {},
    },
    readiness: () => readiness(options),
    newRequestId: dependencies.ids.next,
    clock,
    log,
  });

  return {
    dependencies,
    async start() {
      await dependencies.follower.start();
      dependencies.healer.start();
      worker.start();
      spool.start((delivery) => handleDelivery(dependencies, delivery));
    },
    listen: (port, host) => server.listen(port, host),
    async stop() {
      dependencies.follower.close();
      await server.close(STOP_GRACE_MS);
      await Promise.all([worker.stop(), spool.stop()]);
      await dependencies.healer.stop();
      await dependencies.feed.feedBell.close();
      await dependencies.subjects.close();
    },
  };
}

async function buildDependencies(options: AppOptions, clock: Clock): Promise<Dependencies> {
  const { handle, network, log } = options;
  const { db, sql } = handle;
  const random = options.random ?? randomBytes;
  const ids = createIdSource(clock, random);
  const onError = (err: unknown) => log.warn({ err }, 'doorbell failed');
  const [subjects, feedBell] = await Promise.all([
    openDoorbell(handle, 'subjects', { onError }),
    openDoorbell(handle, 'feed', { onError }),
  ]);
  const feed = { db, network, clock, feedBell };
  const healer = createHealer({ ...feed, log, healIntervalMs: options.healIntervalMs });
  // The custody signer burns from its own balance, so that is where mints must go.
  const treasuryAddress = network.custodyAddress;
  const submission: SubmissionDependencies = {
    db,
    network,
    effects: {
      deployCarbonCredit: deployEffects({ network, treasuryAddress, clock, ids }),
      mint: mintEffects({ network, treasuryAddress, clock, ids }),
      retire: retireEffects({ ids, feed, healer }),
    },
    subjects,
    clock,
    ids,
    random: Math.random,
    log,
    checkpoint: options.checkpoint ?? (async () => {}),
  };
  return {
    db,
    sql,
    network,
    treasuryAddress,
    submission,
    subjects,
    feed,
    healer,
    follower: createFeedFollower({ db, feedBell, log }),
    indexer: createIndexerClient({ url: options.indexerUrl, fetch, timeoutMs: INDEXER_TIMEOUT_MS }),
    retirementsHookUrl: new URL('/api/hooks/retirements', options.publicUrl).href,
    sealer: createSealer(deriveKey(options.appSecret, 'secrets at rest')),
    saltKey: deriveKey(options.appSecret, 'deploy salts'),
    clock,
    ids,
    log,
    mutationWaitMs: options.mutationWaitMs,
  };
}

/** Registering is quick; an indexer that takes longer is down. */
const INDEXER_TIMEOUT_MS = 10_000;

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
