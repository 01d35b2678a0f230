/**
 * The order of the test files. Some mostly wait, for a chain's blocks or for deadlines: one of them runs at a
 * time beside files that compute, because several at once leave the processors idle. Otherwise the slowest
 * come first, so that no worker begins a long file when the others have finished, and folder by folder,
 * because a folder's files load much the same modules.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Durations of files, for a checkout without an earlier run, such as a CI's. A wrong or missing name only
 * costs time.
 */
type Seconds = Readonly<Record<string, number>>;

const WAITING: Seconds = {
  'test/networks/evm/rolledBackChain.test.ts': 70,
  'test/networks/evm/haltedSigning.test.ts': 55,
  'test/networks/evm/continuity.test.ts': 40,
  'test/integration/operations/settlementPause.test.ts': 40,
  'test/crash/silentConnections.test.ts': 40,
  'test/integration/reconciliation/unanswered.test.ts': 20,
  'test/networks/evm/waitingHistory.test.ts': 10,
};

const COMPUTING: Seconds = {
  'test/crash/crashPoints.test.ts': 50,
  'test/crash/evmPayouts.test.ts': 40,
  'test/crash/cashOutCrashPoints.test.ts': 40,
  'test/crash/evmDeposits.test.ts': 40,
  'test/crash/evmIssuance.test.ts': 35,
  'test/crash/payoutCrashPoints.test.ts': 30,
  'test/crash/takeOver.test.ts': 25,
  'test/crash/logCrashes.test.ts': 25,
  'test/crash/evmRetirements.test.ts': 20,
  'test/crash/failover.test.ts': 20,
  'test/crash/batchCrashes.test.ts': 15,
  'test/crash/databaseUnavailable.test.ts': 15,
  'test/crash/lostCommit.test.ts': 15,
  'test/networks/evm/contract.test.ts': 45,
  'test/networks/stellar/parallel.test.ts': 40,
  'test/networks/stellar/contract.test.ts': 35,
  'test/networks/evm/faults.test.ts': 35,
  'test/networks/devnet/evm/dev.test.ts': 30,
  'test/networks/devnet/stellar/dev.test.ts': 30,
  'test/networks/suite/wallets.test.ts': 20,
  'test/networks/stellar/ledgerChannels.test.ts': 20,
  'test/networks/stellar/nodeFaults.test.ts': 15,
  'test/networks/evm/restoredCopy.test.ts': 15,
  'test/networks/stellar/authorisation.test.ts': 15,
  'test/networks/evm/restoredCashOuts.test.ts': 15,
  'test/networks/evm/cashOuts.test.ts': 15,
  'test/networks/stellar/faults.test.ts': 15,
  'test/networks/evm/chaos.test.ts': 10,
  'test/networks/evm/unfinalHistory.test.ts': 10,
  'test/networks/evm/reads.test.ts': 10,
  'test/networks/embedded/wallets.test.ts': 7,
  'test/integration/reconciliation/corruptions.test.ts': 50,
  'test/integration/wallets/walletCashOutFaults.test.ts': 40,
  'test/integration/reconciliation/everyColumn.test.ts': 35,
  'test/integration/database/embeddedPostgres.test.ts': 30,
  'test/integration/reconciliation/reconciliation.test.ts': 30,
  'test/integration/docs/tour.test.ts': 30,
  'test/integration/docs/blocks.test.ts': 25,
  'test/integration/access/access.test.ts': 25,
  'test/integration/books/booksProperties.test.ts': 25,
  'test/integration/warehouse/payout.test.ts': 20,
  'test/integration/operations/startup.test.ts': 20,
  'test/integration/limits/floods.test.ts': 20,
  'test/integration/operations/transparencyLogs.test.ts': 15,
  'test/integration/examples/examples.test.ts': 15,
  'test/integration/warehouse/cashOut.test.ts': 15,
  'test/integration/feed/feed.test.ts': 15,
  'test/integration/wallets/walletChaos.test.ts': 10,
  'test/integration/http/fuzz.test.ts': 10,
  'test/integration/warehouse/expiry.test.ts': 10,
  'test/integration/database/leases.test.ts': 10,
  'test/integration/carbon/carbonApi.test.ts': 10,
  'test/integration/warehouse/cashOutOpening.test.ts': 9,
  'test/integration/carbon/serialNumbers.test.ts': 9,
  'test/integration/pages/pages.test.ts': 9,
  'test/integration/warehouse/cashOutClocks.test.ts': 8,
  'test/integration/limits/largeAnswers.test.ts': 8,
  'test/integration/operations/badSurroundings.test.ts': 8,
  'test/integration/carbon/retirementRecords.test.ts': 8,
  'test/integration/http/directPost.test.ts': 7,
  'test/integration/operations/lostLogCommits.test.ts': 7,
  'test/integration/database/migrate.test.ts': 7,
};
/** Duration of a file that is not listed. */
const USUAL_SECONDS = 2;
/** Number of waiting files that run at a time; more at once leave the processors idle. */
const WAITING_AT_A_TIME = 1;

/** Folders in order, with the longest files first. */
const FOLDERS = ['crash', 'networks', 'integration', 'unit'];

interface Timed {
  file: TestSpecification;
  path: string;
  seconds: number;
}

export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const timed = files.map((file) => this.#timed(file));
    const slowestFirst = timed.sort((a, b) => b.seconds - a.seconds);
    const waiting = slowestFirst.filter(({ path }) => path in WAITING);
    const computing = slowestFirst
      .filter(({ path }) => !(path in WAITING))
      .sort((a, b) => folderOf(a.path) - folderOf(b.path));
    const workers = Math.max(this.ctx.config.maxWorkers, 1);
    return fewWaitingAtATime(waiting, computing, workers)
      .sort((a, b) => rankOf(a) - rankOf(b))
      .map(({ file }) => file);
  }

  /** Adds the file's last duration on this machine. */
  #timed(file: TestSpecification): Timed {
    const path = relative(this.ctx.config.root, file.moduleId);
    const last = this.ctx.cache.getFileTestResults(`${file.project.name}:${path}`);
    const seconds = last ? last.duration / 1000 : (WAITING[path] ?? COMPUTING[path] ?? USUAL_SECONDS);
    return { file, path, seconds };
  }
}

/** Gives the next file to the worker that should be free first. */
function fewWaitingAtATime(waiting: readonly Timed[], computing: readonly Timed[], workers: number): Timed[] {
  const queues = { waiting: [...waiting], computing: [...computing] };
  const freeAt = Array.from({ length: workers }, () => 0);
  const order: Timed[] = [];
  const waitingUntil = Array.from({ length: WAITING_AT_A_TIME }, () => 0);
  while (order.length < waiting.length + computing.length) {
    const now = Math.min(...freeAt);
    const firstEnd = Math.min(...waitingUntil);
    const isWaitingTurn = queues.computing.length === 0 || (now >= firstEnd && queues.waiting.length > 0);
    const next = (isWaitingTurn ? queues.waiting : queues.computing).shift();
    if (next === undefined) break;
    order.push(next);
    freeAt[freeAt.indexOf(now)] = now + next.seconds;
    if (isWaitingTurn) waitingUntil[waitingUntil.indexOf(firstEnd)] = now + next.seconds;
  }
  return order;
}

/**
 * Isolated projects come first. A file of another project replaces the worker, and at first no worker has
 * loaded the product.
 */
const rankOf = ({ file }: Timed) => (file.project.config.isolate ? 0 : 1);

const folderOf = (path: string) => FOLDERS.indexOf(path.split('/')[1] ?? '');
