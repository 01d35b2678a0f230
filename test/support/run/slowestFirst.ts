/**
 * The order of the files: the slowest first, so that no worker begins a long one when the others have finished. Folder by
 * folder, because their files load much the same.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** For a checkout that has not run before, such as CI's. A name that is gone or missing costs time, nothing else. */
const SECONDS: Readonly<Record<string, number>> = {
  'test/crash/cashOutCrashPoints.test.ts': 60,
  'test/crash/evmDeposits.test.ts': 50,
  'test/crash/crashPoints.test.ts': 50,
  'test/crash/silentConnections.test.ts': 45,
  'test/crash/evmPayouts.test.ts': 45,
  'test/crash/payoutCrashPoints.test.ts': 40,
  'test/crash/evmRetirements.test.ts': 35,
  'test/crash/evmIssuance.test.ts': 30,
  'test/crash/takeOver.test.ts': 20,
  'test/crash/failover.test.ts': 15,
  'test/networks/evm/rolledBackChain.test.ts': 110,
  'test/networks/evm/continuity.test.ts': 50,
  'test/networks/evm/haltedSigning.test.ts': 45,
  'test/networks/evm/unfinalHistory.test.ts': 40,
  'test/networks/evm/contract.test.ts': 35,
  'test/networks/suite/wallets.test.ts': 35,
  'test/networks/stellar/parallel.test.ts': 30,
  'test/networks/evm/faults.test.ts': 25,
  'test/networks/devnet/stellar/dev.test.ts': 25,
  'test/networks/devnet/evm/dev.test.ts': 25,
  'test/networks/stellar/contract.test.ts': 25,
  'test/networks/stellar/ledgerChannels.test.ts': 15,
  'test/networks/stellar/faults.test.ts': 15,
  'test/networks/stellar/nodeFaults.test.ts': 15,
  'test/integration/reconciliation/corruptions.test.ts': 50,
  'test/integration/reconciliation/everyColumn.test.ts': 45,
  'test/integration/access/access.test.ts': 30,
  'test/integration/database/embeddedPostgres.test.ts': 30,
  'test/integration/operations/settlementPause.test.ts': 30,
  'test/integration/docs/blocks.test.ts': 25,
  'test/integration/docs/tour.test.ts': 25,
  'test/integration/reconciliation/reconciliation.test.ts': 20,
  'test/integration/books/booksProperties.test.ts': 20,
  'test/integration/reconciliation/unanswered.test.ts': 20,
  'test/integration/wallets/walletCashOutFaults.test.ts': 20,
  'test/integration/examples/examples.test.ts': 15,
  'test/integration/operations/startup.test.ts': 15,
  'test/integration/limits/boundedMemory.test.ts': 15,
  'test/integration/limits/floods.test.ts': 15,
};

/** Those with the longest files first. */
const FOLDERS = ['crash', 'networks', 'integration', 'unit'];

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const timed = files.map((file) => ({
      file,
      folder: FOLDERS.indexOf(this.#pathOf(file).split('/')[1] ?? ''),
      ms: this.#expectedMs(file),
    }));
    return timed.sort((a, b) => a.folder - b.folder || b.ms - a.ms).map(({ file }) => file);
  }

  /** As long as it took here the last time. */
  #expectedMs(file: TestSpecification): number {
    const path = this.#pathOf(file);
    const last = this.ctx.cache.getFileTestResults(`${file.project.name}:${path}`);
    return last?.duration ?? (SECONDS[path] ?? 0) * 1000;
  }

  #pathOf({ moduleId }: TestSpecification): string {
    return relative(this.ctx.config.root, moduleId);
  }
}
