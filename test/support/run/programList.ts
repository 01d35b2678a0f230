/**
 * The programs that tests start as processes.
 */

/** Paths from the root of the project. */
export const PROGRAMS = [
  'demo/main.ts',
  'devnet/evm/dev.ts',
  'devnet/stellar/dev.ts',
  'src/main.ts',
  'src/cli/erasePayoutAccounts.ts',
  'src/cli/expire.ts',
  'src/cli/ledgerChannels.ts',
  'src/cli/ledgerCheck.ts',
  'src/cli/reconcile.ts',
  'src/cli/sealingRotate.ts',
  'src/cli/wallet.ts',
  'test/crash/buildLogs.ts',
  'test/crash/instance.ts',
  'test/support/database/embeddedPostgresHolder.ts',
  'test/support/database/reaper.ts',
  'test/support/evm/anvilHolder.ts',
  'test/support/run/failingCommand.ts',
] as const;

export type Program = (typeof PROGRAMS)[number];
