/**
 * Composes the dependencies of the use cases, and the background work that belongs to them. The server
 * (app.ts), the command line tools and the tests all start from here.
 */
import { randomBytes } from 'node:crypto';
import { reconcileAll } from '../reconciliation/reconcileAll.ts';
import { findUnknownTokens } from '../reconciliation/unknownTokens.ts';
import { createIdSource, systemClock, type Clock, type IdSource } from '../lib/clock.ts';
import { claimInstallation } from '../ledger/network/claimInstallation.ts';
import type { DatabaseHandle, Db } from '../db/connection.ts';
import { openChangeSignal } from '../db/changeSignal.ts';
import type { DueWorker } from '../db/dueWorker.ts';
import { readPrimary, type PublicReads } from '../db/publicReads.ts';
import type { FeedDependencies } from '../feed/fillToken.ts';
import { createFeedFollower } from '../feed/followFeed.ts';
import { updateRecordDates } from '../feed/updateRecordDates.ts';
import { createFeedFiller } from '../feed/feedFiller.ts';
import { openTokenRevocations } from '../identity/tokenRevocations.ts';
import { MAX_TOKEN_SECONDS } from '../config/settings.ts';
import { retirementsHookUrlOf } from '../lib/hookUrls.ts';
import { createIndexerClient } from '../indexer/client.ts';
import { createExpiryWorker } from '../jobs/expiryRuns.ts';
import { createNightlyExpiry } from '../jobs/nightlyExpiry.ts';
import { createLogBuilder } from '../jobs/logBuilder.ts';
import { createReconciliationJob } from '../jobs/reconciliationJob.ts';
import { createBooks } from '../ledger/books/books.ts';
import type { ClockControl } from '../ledger/network/family.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import type { CrashPoint, SubmissionDependencies } from '../ledger/submission/submission.ts';
import { createContinuityWatch } from '../ledger/submission/continuityWatch.ts';
import { createSubmissionWorker } from '../ledger/submission/worker.ts';
import type { Logger } from '../lib/logger.ts';
import { createRamp, type RampSettings } from '../ramp/createRamp.ts';
import { NO_APPROVALS, type ApprovalPolicy } from '../resolvers/approvals/approvalPolicy.ts';
import { createHistoryCache } from '../resolvers/carbon/historyCache.ts';
import type { Dependencies } from '../resolvers/core/dependencies.ts';
import { createRegistrationKeeper } from '../resolvers/operations/registrationKeeper.ts';
import { createSessionPoller } from '../resolvers/warehouse/offRamp/pollOpenSessions.ts';
import { createOverdueWatch } from '../resolvers/operations/overdueWork.ts';
import { createPayoutAccounts } from '../resolvers/warehouse/offRamp/payoutAccount.ts';
import { createChangeFollower } from '../resolvers/core/changeFollower.ts';
import { createTransparencyLogs, originOfUrl, type TransparencyLogs } from '../transparency/logs.ts';
import { createSealer, deriveKey, type SealingSecrets } from '../lib/sealer.ts';
import { createEffects } from './effects.ts';

export interface ComposeOptions {
  handle: DatabaseHandle;
  /** Where public lists are read; the same database unless given. The caller closes it. */
  publicReads?: PublicReads;
  network: LedgerNetwork;
  /** The clock of a development network; left out on a real one. */
  clockControl?: ClockControl;
  /** Null without an indexer: the feed filler then finds retirements itself, a little later. */
  indexerUrl: string | null;
  /** The bearer token that the indexer asks for, if any. */
  indexerToken?: string | undefined;
  /** The address at which the indexer reaches this server; never taken from a request. */
  publicUrl: string;
  appSecret: string;
  /**
   * The first part of the names of all transparency logs. Unless given, logs without a name get
   * `<host of publicUrl>/logs`, and logs that have a name keep it.
   */
  transparencyLogOrigin?: string | undefined;
  /** The first secret seals stored secrets, all of them open; only the appSecret unless given. */
  sealingSecrets?: SealingSecrets;
  mutationWaitMs: number;
  feedCompareIntervalMs: number;
  ramp: RampSettings;
  /** Which operations a second person approves; none unless given. */
  approvalPolicy?: ApprovalPolicy;
  /** The country of receipts whose warehouse names none. */
  receiptCountryCode: string;
  /** The time zone in which the expiry job runs at 02:00. */
  nightlyTimeZone: string;
  /** Maximum lifetime of a token; the maximum of the setting unless given. */
  maxTokenSeconds?: number | undefined;
  /** How often the registration at the indexer is checked; every minute unless given. */
  registrationPollMs?: number;
  /**
   * How often an idle platform compares the chain with what was final; the default of continuityWatch.ts
   * unless given.
   */
  continuityPollMs?: number;
  log: Logger;
  clock?: Clock;
  random?: (size: number) => Uint8Array;
  /** For crash tests; the product leaves it out. */
  crashPoint?: (point: CrashPoint) => Promise<void>;
}

export interface Platform {
  dependencies: Dependencies;
  submissionWorker: DueWorker;
  expiryWorker: DueWorker;
  /** Starts the background work. */
  start(): Promise<void>;
  /** Stops the work in order, and closes everything but the database handle. */
  stop(): Promise<void>;
}

/** Registering is quick, so an indexer that takes longer is down. */
const INDEXER_TIMEOUT_MS = 10_000;

/** @throws WrongInstallation when the database belongs to another network. */
export async function composePlatform(options: ComposeOptions): Promise<Platform> {
  await claimInstallation(options.handle.db, options.network, options.clock ?? systemClock);
  const dependencies = await composeDependencies(options);
  const overdueWatch = createOverdueWatch(dependencies);
  const nightlyExpiry = createNightlyExpiry(dependencies, { timeZone: options.nightlyTimeZone });
  const submissionWorker = createSubmissionWorker(dependencies.submission);
  const expiryWorker = createExpiryWorker(dependencies);
  const workers = [
    submissionWorker,
    createContinuityWatch(dependencies.submission, options.continuityPollMs),
    createSessionPoller(dependencies),
    expiryWorker,
    createRegistrationKeeper(dependencies, {
      log: dependencies.log,
      random: dependencies.submission.random,
      pollIntervalMs: options.registrationPollMs,
    }),
    createLogBuilder(dependencies),
    createReconciliationJob(dependencies, { timeZone: options.nightlyTimeZone }),
  ];
  return {
    dependencies,
    submissionWorker,
    expiryWorker,
    async start() {
      await dependencies.follower.start();
      dependencies.changeFollower.start();
      dependencies.feedFiller.start();
      for (const worker of workers) worker.start();
      await overdueWatch.start();
      await nightlyExpiry.start();
    },
    async stop() {
      dependencies.follower.close();
      dependencies.changeFollower.close();
      nightlyExpiry.stop();
      overdueWatch.stop();
      // All workers stop at once: while one finishes its work (a reconciliation takes minutes), the others
      // would begin new work.
      await Promise.all(workers.map((worker) => worker.stop()));
      await dependencies.feedFiller.stop();
      await dependencies.feed.feedSignal.close();
      await dependencies.stateSignal.close();
      dependencies.tokenRevocations.stop();
      await dependencies.credentialSignal.close();
    },
  };
}

/** Opens the logs like a process that has just started, and has signed and shown no head yet. */
export function openLogs(
  options: Pick<ComposeOptions, 'handle' | 'appSecret' | 'publicUrl' | 'transparencyLogOrigin' | 'network'>,
): TransparencyLogs {
  const { handle, appSecret, publicUrl, transparencyLogOrigin, network } = options;
  return createTransparencyLogs({
    db: handle.db,
    seed: deriveKey(appSecret, 'transparency logs'),
    origin: { first: originOfUrl(publicUrl), given: transparencyLogOrigin },
    networkId: network.networkId,
  });
}

async function composeDependencies(options: ComposeOptions): Promise<Dependencies> {
  const { handle, network, log, clock = systemClock, random = randomBytes } = options;
  const { db } = handle;
  const publicReads = options.publicReads ?? readPrimary(db);
  const sealer = createSealer(options.sealingSecrets ?? [options.appSecret]);
  const saltKey = deriveKey(options.appSecret, 'deploy salts');
  const ids = createIdSource(clock, options.random);
  const { stateSignal, feedSignal, credentialSignal } = await openSignals(handle, ids, log);
  const tokenRevocations = await openTokenRevocations({
    db,
    credentialSignal,
    log,
    maxTokenSeconds: options.maxTokenSeconds ?? MAX_TOKEN_SECONDS,
  });
  const feed = { db, network, clock, feedSignal };
  const feedFiller = createFeedFiller({ ...feed, log, feedCompareIntervalMs: options.feedCompareIntervalMs });
  const ramp = createRamp(options.ramp, { db, clock, random });
  const submission: SubmissionDependencies = {
    db,
    network,
    effects: createEffects({ db, network, clock, ids, stateSignal, feed, feedFiller, log }),
    reconcile: () => findOwnContradictions({ db, network, feed }),
    stateSignal,
    clock,
    ids,
    random: () => Math.random(),
    log,
    crashPoint: options.crashPoint ?? (async () => {}),
  };
  return {
    db,
    publicReads,
    historyCache: createHistoryCache(publicReads),
    books: createBooks({ handle, clock, ids }),
    network,
    clockControl: options.clockControl ?? null,
    logs: openLogs(options),
    submission,
    stateSignal,
    credentialSignal,
    tokenRevocations,
    feed,
    feedFiller,
    follower: createFeedFollower({ db, publicReads, feedSignal, log }),
    changeFollower: createChangeFollower({ db, stateSignal, log }),
    indexer: openIndexer(options),
    retirementsHookUrl: retirementsHookUrlOf(options.publicUrl),
    ramp: ramp.provider,
    manualRamp: ramp.manual,
    approvalPolicy: options.approvalPolicy ?? NO_APPROVALS,
    receiptCountryCode: options.receiptCountryCode,
    sealer,
    payoutAccounts: createPayoutAccounts(sealer, saltKey),
    saltKey,
    clock,
    ids,
    random,
    log,
    mutationWaitMs: options.mutationWaitMs,
  };
}

function openIndexer({ indexerUrl: url, indexerToken: token }: ComposeOptions) {
  return createIndexerClient({ url, token, fetch, timeoutMs: INDEXER_TIMEOUT_MS });
}

async function openSignals(handle: DatabaseHandle, ids: IdSource, log: Logger) {
  const options = {
    senderId: ids.next(),
    onError: (err: unknown) => log.warn({ err }, 'change signal failed'),
  };
  const [stateSignal, feedSignal, credentialSignal] = await Promise.all([
    openChangeSignal(handle, 'states', options),
    openChangeSignal(handle, 'feed', options),
    openChangeSignal(handle, 'credentials', options),
  ]);
  return { stateSignal, feedSignal, credentialSignal };
}

/** Returns the contradictions that keep signing halted: the platform's own, and unanswered questions. */
async function findOwnContradictions(deps: {
  db: Db;
  network: LedgerNetwork;
  feed: FeedDependencies;
}): Promise<string[]> {
  await updateRecordDates(deps);
  // Read before the comparison: a token that is adopted in between is compared, or unknown here.
  const unknown = await findUnknownTokens(deps);
  const { findings, notProved } = await reconcileAll({ ...deps, isStill: true });
  // Every address may send tokens to custody, and gifts must not be a way to stop the platform.
  const ours = findings.filter(({ isGift }) => !isGift);
  // Obstacles of holders or reviews don't end soon, so they are left out. A missing answer of the network may
  // hide a disagreement.
  const unanswered = notProved.filter(({ obstacle }) => obstacle === 'NO_ANSWER');
  const disagreements = [...ours, ...unanswered].map(({ invariant, message }) => `${invariant}: ${message}`);
  return [...disagreements, ...unknown];
}
