/**
 * Puts together what the use cases work with, and the background work that belongs to it. The server
 * (app.ts), the command line tools and the tests all start from here.
 */
import { randomBytes } from 'node:crypto';
import { audit } from './audit/audit.ts';
import { createIdSource, systemClock, type Clock } from './clock.ts';
import { claimInstallation } from './ledger/network/claimInstallation.ts';
import type { DatabaseHandle } from './db/connection.ts';
import { openDoorbell } from './db/doorbell.ts';
import { createFeedFollower } from './feed/followFeed.ts';
import { createHealer } from './feed/healer.ts';
import { hookUrlOf } from './hookUrls.ts';
import { createIndexerClient } from './indexer/client.ts';
import { expiryEffects } from './jobs/expiryEffects.ts';
import { createExpiryWorker } from './jobs/expiryRuns.ts';
import { createNightlyExpiry } from './jobs/nightlyExpiry.ts';
import type { ClockControl } from './ledger/network/clockControl.ts';
import type { LedgerNetwork } from './ledger/network/port.ts';
import { bySigner } from './ledger/submission/effects.ts';
import type { Checkpoint, SubmissionDependencies } from './ledger/submission/submission.ts';
import { createSubmissionWorker, type SubmissionWorker } from './ledger/submission/worker.ts';
import type { Logger } from './logger.ts';
import { createRamp, type RampSettings } from './ramp/createRamp.ts';
import type { Dependencies } from './resolvers/dependencies.ts';
import { deploySettlementEffects } from './resolvers/deployRampSettlement.ts';
import {
  holderApprovalEffects,
  holderDepositEffects,
  holderRetireEffects,
} from './resolvers/holderEffects.ts';
import { createSessionPoller } from './resolvers/pollOpenSessions.ts';
import { deployEffects, mintEffects } from './resolvers/projectEffects.ts';
import {
  deployReceiptEffects,
  mintEffectsBySubject,
  mintReceiptEffects,
} from './resolvers/receiptEffects.ts';
import { retireEffects } from './resolvers/retirementEffects.ts';
import { approvalEffects, depositEffects, releaseEffects } from './resolvers/settlementEffects.ts';
import { createSealer, deriveKey } from './sealer.ts';

export interface ComposeOptions {
  handle: DatabaseHandle;
  network: LedgerNetwork;
  /** Of a network for development; left out on a real one. */
  clockControl?: ClockControl;
  /** Null without one: the feed then finds by itself what happened, a little later. */
  indexerUrl: string | null;
  /** Where the indexer reaches this server; never taken from a request. */
  publicUrl: string;
  appSecret: string;
  mutationWaitMs: number;
  healIntervalMs: number;
  ramp: RampSettings;
  /** Of receipts whose warehouse names no country. */
  receiptCountryCode: string;
  /** Where it is 02:00 when the expiry job runs. */
  expiryTimeZone: string;
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
  const expiryWorker = createExpiryWorker(dependencies);
  const nightlyExpiry = createNightlyExpiry(dependencies, { timeZone: options.expiryTimeZone });
  return {
    dependencies,
    submissionWorker,
    async start() {
      await dependencies.follower.start();
      dependencies.healer.start();
      submissionWorker.start();
      sessionPoller.start();
      expiryWorker.start();
      await nightlyExpiry.start();
    },
    async stop() {
      dependencies.follower.close();
      nightlyExpiry.stop();
      await Promise.all([expiryWorker.stop(), sessionPoller.stop(), submissionWorker.stop()]);
      await dependencies.healer.stop();
      await dependencies.feed.feedBell.close();
      await dependencies.subjects.close();
      await dependencies.credentialBell.close();
    },
  };
}

async function composeDependencies(options: ComposeOptions): Promise<Dependencies> {
  const { handle, network, log, clock = systemClock, random = randomBytes } = options;
  const { db } = handle;
  const ids = createIdSource(clock, random);
  const onError = (err: unknown) => log.warn({ err }, 'doorbell failed');
  const [subjects, feedBell, credentialBell] = await Promise.all([
    openDoorbell(handle, 'subjects', { onError }),
    openDoorbell(handle, 'feed', { onError }),
    openDoorbell(handle, 'credentials', { onError }),
  ]);
  const feed = { db, network, clock, feedBell };
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
    const { findings } = await audit({ db, network, treasuryAddress, feed, isStill: true });
    // Anybody may send tokens to custody: that must not be a way to stop the platform.
    const ours = findings.filter(({ isGift }) => !isGift);
    return ours.map(({ invariant, message }) => `${invariant}: ${message}`);
  };
  const ofRetirement = retireEffects({ ids, feed, healer });
  const ofCashOut = { db, network, clock, ids, subjects };
  const submission: SubmissionDependencies = {
    db,
    network,
    effects: {
      deployCarbonCredit: deployEffects({ network, treasuryAddress, clock, ids }),
      deployCommodityReceipt: deployReceiptEffects({ db, network, clock, ids }),
      mint: mintEffectsBySubject(
        { db },
        {
          ofProject: mintEffects({ network, treasuryAddress, clock, ids }),
          ofReceipt: mintReceiptEffects({ db, network, clock, ids }),
        },
      ),
      retire: bySigner(ofRetirement, holderRetireEffects(ofRetirement.afterSucceeded)),
      markExpired: expiryEffects({ clock, log }),
      deployRampSettlement: deploySettlementEffects(),
      approve: bySigner(approvalEffects(ofCashOut), holderApprovalEffects()),
      initiateOffRamp: bySigner(depositEffects(ofCashOut), holderDepositEffects(ofCashOut)),
      confirmOffRampSettlement: releaseEffects(ofCashOut, { state: 'SETTLED' }),
      refundOffRamp: releaseEffects(ofCashOut, { state: 'REFUNDED' }),
    },
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
    network,
    clockControl: options.clockControl ?? null,
    treasuryAddress,
    submission,
    subjects,
    credentialBell,
    feed,
    healer,
    follower: createFeedFollower({ db, feedBell, log }),
    indexer: createIndexerClient({ url: options.indexerUrl, fetch, timeoutMs: INDEXER_TIMEOUT_MS }),
    retirementsHookUrl: hookUrlOf(options.publicUrl, 'retirements'),
    ramp: ramp.provider,
    manualRamp: ramp.manual,
    receiptCountryCode: options.receiptCountryCode,
    sealer: createSealer(deriveKey(options.appSecret, 'secrets at rest')),
    saltKey: deriveKey(options.appSecret, 'deploy salts'),
    clock,
    ids,
    random,
    log,
    mutationWaitMs: options.mutationWaitMs,
  };
}
