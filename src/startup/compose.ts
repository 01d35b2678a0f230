/**
 * Puts together what the use cases work with, and the background work that belongs to it. The server
 * (app.ts), the command line tools and the tests all start from here.
 */
import { randomBytes } from 'node:crypto';
import { reconcileAll } from '../reconciliation/reconcileAll.ts';
import { createIdSource, systemClock, type Clock } from '../lib/clock.ts';
import { claimInstallation } from '../ledger/network/claimInstallation.ts';
import type { DatabaseHandle } from '../db/connection.ts';
import { openChangeSignal } from '../db/changeSignal.ts';
import { createFeedFollower } from '../feed/followFeed.ts';
import { redateRecords } from '../feed/redateRecords.ts';
import { createHealer } from '../feed/healer.ts';
import { hookUrlOf } from '../lib/hookUrls.ts';
import { createIndexerClient } from '../indexer/client.ts';
import { expiryEffects } from '../jobs/expiryEffects.ts';
import { createExpiryWorker } from '../jobs/expiryRuns.ts';
import { createNightlyExpiry } from '../jobs/nightlyExpiry.ts';
import { createLogBuilder } from '../jobs/logBuilder.ts';
import { createReconciliationJob } from '../jobs/reconciliationJob.ts';
import { createBooks } from '../ledger/books/books.ts';
import type { ClockControl } from '../ledger/network/clockControl.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import type { EffectsTable } from '../ledger/submission/effects.ts';
import type { Checkpoint, SubmissionDependencies } from '../ledger/submission/submission.ts';
import { createSubmissionWorker, type SubmissionWorker } from '../ledger/submission/worker.ts';
import type { Logger } from '../lib/logger.ts';
import { createRamp, type RampSettings } from '../ramp/createRamp.ts';
import type { Dependencies } from '../resolvers/core/dependencies.ts';
import { createRegistrationKeeper } from '../resolvers/operations/keepWatching.ts';
import { deploySettlementEffects } from '../resolvers/operations/deployRampSettlement.ts';
import {
  holderApprovalEffects,
  holderDepositEffects,
  holderRetireEffects,
} from '../resolvers/wallets/holderEffects.ts';
import { createSessionPoller } from '../resolvers/warehouse/offRamp/pollOpenSessions.ts';
import { createStrandedWatch } from '../resolvers/operations/strandedSessions.ts';
import { deployEffects, mintEffects } from '../resolvers/carbon/projectEffects.ts';
import { deployReceiptEffects, mintReceiptEffects } from '../resolvers/warehouse/receiptEffects.ts';
import { retireEffects } from '../resolvers/carbon/retirementEffects.ts';
import {
  approvalEffects,
  depositEffects,
  releaseEffects,
} from '../resolvers/warehouse/offRamp/settlementEffects.ts';
import { createPayoutAccounts } from '../resolvers/warehouse/offRamp/payoutAccount.ts';
import { createSubjectFollower } from '../resolvers/core/subjectFollower.ts';
import { createTransparencyLogs, originOfUrl } from '../transparency/logs.ts';
import { createSealer, deriveKey } from '../lib/sealer.ts';

export interface ComposeOptions {
  handle: DatabaseHandle;
  network: LedgerNetwork;
  /** Of a network for development; left out on a real one. */
  clockControl?: ClockControl;
  /** Null without one: the feed then finds by itself what happened, a little later. */
  indexerUrl: string | null;
  /** What the indexer asks for, if anything. */
  indexerToken?: string | undefined;
  /** Where the indexer reaches this server; never taken from a request. */
  publicUrl: string;
  appSecret: string;
  /** The first part of the names of the transparency logs; else it follows `publicUrl` when they begin, and stays. */
  logOrigin?: string | undefined;
  mutationWaitMs: number;
  healIntervalMs: number;
  ramp: RampSettings;
  /** Of receipts whose warehouse names no country. */
  receiptCountryCode: string;
  /** Where it is 02:00 when the expiry job runs. */
  expiryTimeZone: string;
  /** How often the registration at the indexer is looked at; every minute unless given. */
  registrationLookMs?: number;
  log: Logger;
  clock?: Clock;
  random?: (size: number) => Uint8Array;
  /** For crash tests; the product leaves it out. */
  checkpoint?: (point: Checkpoint) => Promise<void>;
}

export interface Platform {
  dependencies: Dependencies;
  submissionWorker: SubmissionWorker;
  /** Begins the background work: submission, feed, healing, cash-outs, expiry. */
  start(): Promise<void>;
  /** Ends it in order, and lets go of everything but the database handle. */
  stop(): Promise<void>;
}

/** Registering is quick; an indexer that takes longer is down. */
const INDEXER_TIMEOUT_MS = 10_000;

/** @throws WrongInstallation when the database belongs to another network. */
export async function composePlatform(options: ComposeOptions): Promise<Platform> {
  await claimInstallation(options.handle.db, options.network, options.clock ?? systemClock);
  const dependencies = await composeDependencies(options);
  const submissionWorker = createSubmissionWorker(dependencies.submission);
  const sessionPoller = createSessionPoller(dependencies);
  const strandedWatch = createStrandedWatch(dependencies);
  const expiryWorker = createExpiryWorker(dependencies);
  const registrationKeeper = createRegistrationKeeper(dependencies, {
    log: dependencies.log,
    random: dependencies.submission.random,
    lookEveryMs: options.registrationLookMs,
  });
  const nightlyExpiry = createNightlyExpiry(dependencies, { timeZone: options.expiryTimeZone });
  const logBuilder = createLogBuilder(dependencies);
  const reconciliationJob = createReconciliationJob(dependencies, { timeZone: options.expiryTimeZone });
  return {
    dependencies,
    submissionWorker,
    async start() {
      await dependencies.follower.start();
      dependencies.subjectFollower.start();
      dependencies.healer.start();
      submissionWorker.start();
      sessionPoller.start();
      expiryWorker.start();
      await strandedWatch.start();
      registrationKeeper.start();
      await nightlyExpiry.start();
      logBuilder.start();
      reconciliationJob.start();
    },
    async stop() {
      dependencies.follower.close();
      dependencies.subjectFollower.close();
      nightlyExpiry.stop();
      await Promise.all([reconciliationJob.stop(), logBuilder.stop()]);
      strandedWatch.stop();
      await registrationKeeper.stop();
      await Promise.all([expiryWorker.stop(), sessionPoller.stop(), submissionWorker.stop()]);
      await dependencies.healer.stop();
      await dependencies.feed.feedSignal.close();
      await dependencies.subjects.close();
      await dependencies.credentialSignal.close();
    },
  };
}

async function composeDependencies(options: ComposeOptions): Promise<Dependencies> {
  const { handle, network, log, clock = systemClock, random = randomBytes } = options;
  const { db } = handle;
  const sealer = createSealer(deriveKey(options.appSecret, 'secrets at rest'));
  const saltKey = deriveKey(options.appSecret, 'deploy salts');
  const ids = createIdSource(clock, random);
  const onError = (err: unknown) => log.warn({ err }, 'change signal failed');
  const [subjects, feedSignal, credentialSignal] = await Promise.all([
    openChangeSignal(handle, 'subjects', { onError }),
    openChangeSignal(handle, 'feed', { onError }),
    openChangeSignal(handle, 'credentials', { onError }),
  ]);
  const feed = { db, network, clock, feedSignal };
  const healer = createHealer({ ...feed, log, healIntervalMs: options.healIntervalMs });
  // The custody signer burns from its own balance, so that is where mints must go.
  const treasuryAddress = network.custodyAddress;
  const ramp = createRamp(options.ramp, {
    db,
    clock,
    random,
    callbackUrl: hookUrlOf(options.publicUrl, 'payoutSettled'),
    log,
  });
  const reconcile = async () => {
    await redateRecords({ db, network });
    const { findings, notProved } = await reconcileAll({ db, network, treasuryAddress, feed, isStill: true });
    // Every address may send tokens to custody: that must not be a way to stop the platform.
    const ours = findings.filter(({ isGift }) => !isGift);
    // What holders or reviews leave open does not end soon; what the network did not answer may hide a disagreement.
    const unanswered = notProved.filter(({ obstacle }) => obstacle === 'NO_ANSWER');
    return [...ours, ...unanswered].map(({ invariant, message }) => `${invariant}: ${message}`);
  };
  const ofRetirement = retireEffects({ ids, feed, healer, log });
  const ofOffRampSession = { db, network, clock, ids, subjects };
  const effects: EffectsTable = {
    CUSTODY: {
      PROJECT: {
        deployCarbonCredit: deployEffects({ network, treasuryAddress, clock, ids }),
        mint: mintEffects({ network, treasuryAddress, clock, ids }),
      },
      RETIREMENT: { retire: ofRetirement },
      RECEIPT: {
        deployCommodityReceipt: deployReceiptEffects({ db, network, clock, ids }),
        mint: mintReceiptEffects({ db, network, clock, ids }),
        markExpired: expiryEffects({ clock, log }),
      },
      OFF_RAMP_SESSION: {
        approve: approvalEffects(ofOffRampSession),
        initiateOffRamp: depositEffects(ofOffRampSession),
        confirmOffRampSettlement: releaseEffects(ofOffRampSession, { state: 'SETTLED' }),
        refundOffRamp: releaseEffects(ofOffRampSession, { state: 'REFUNDED' }),
      },
      SETTLEMENT_DEPLOYMENT: { deployRampSettlement: deploySettlementEffects() },
    },
    HOLDER: {
      HOLDER_ACT: {
        retire: holderRetireEffects(ofRetirement.afterSucceeded),
        approve: holderApprovalEffects(),
      },
      OFF_RAMP_SESSION: { initiateOffRamp: holderDepositEffects(ofOffRampSession) },
    },
  };
  const submission: SubmissionDependencies = {
    db,
    network,
    effects,
    reconcile,
    subjects,
    clock,
    ids,
    random: () => Math.random(),
    log,
    checkpoint: options.checkpoint ?? (async () => {}),
  };
  return {
    db,
    books: createBooks({ handle, clock, ids }),
    network,
    clockControl: options.clockControl ?? null,
    treasuryAddress,
    logs: createTransparencyLogs({
      db,
      seed: deriveKey(options.appSecret, 'transparency logs'),
      origin: { first: originOfUrl(options.publicUrl), given: options.logOrigin },
    }),
    submission,
    subjects,
    credentialSignal,
    feed,
    healer,
    follower: createFeedFollower({ db, feedSignal, log }),
    subjectFollower: createSubjectFollower({ db, subjects, log }),
    indexer: createIndexerClient({
      url: options.indexerUrl,
      token: options.indexerToken,
      fetch,
      timeoutMs: INDEXER_TIMEOUT_MS,
    }),
    retirementsHookUrl: hookUrlOf(options.publicUrl, 'retirements'),
    ramp: ramp.provider,
    manualRamp: ramp.manual,
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
