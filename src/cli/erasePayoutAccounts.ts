/**
 * `npm run payout-accounts:erase -- --older-than-days 400`: erases the payout accounts of cash-outs that
 * ended earlier.
 */
import { Command } from 'commander';
import { erasePayoutAccounts } from '../resolvers/warehouse/offRamp/erasePayoutAccounts.ts';
import { runCommand } from './runCommand.ts';
import { wholeDays } from './wholeDays.ts';
import { withDatabase } from './withDatabase.ts';

const command = new Command('payout-accounts:erase')
  .description(
    'Erases for good the payout accounts of cash-outs that have ended, also the part that is shown. May run beside the server, be ' +
      'killed and be started again.',
  )
  .requiredOption('--older-than-days <n>', 'cash-outs that ended later keep theirs', wholeDays(1))
  .action(({ olderThanDays }: { olderThanDays: number }) =>
    withDatabase(async ({ db }) => {
      const erased = await erasePayoutAccounts(db, { olderThanDays });
      process.stdout.write(`${erased} payout accounts were erased.\n`);
    }),
  );

await runCommand(command);
