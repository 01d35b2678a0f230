/**
 * `npm run audit:export -- audit.jsonl --keep-days 400 --prune`: writes old entries of the audit log as lines
 * of JSON.
 */
import { Command } from 'commander';
import { readDatabaseTime } from '../db/databaseTime.ts';
import { exportAuditLog } from '../identity/exportAuditLog.ts';
import { runCommand } from './runCommand.ts';
import { wholeDays } from './wholeDays.ts';
import { withDatabase } from './withDatabase.ts';

/**
 * Recent events are looked up in the database, and mutations under way get their outcome there. The database
 * removes no younger entries (prune_audit_entries).
 */
const MIN_KEPT_DAYS = 30;
const MS_PER_DAY = 86_400_000;

const command = new Command('audit:export')
  .description('Writes old entries of the audit log to a new file, as lines of JSON.')
  .argument('<file>', 'the file; it must not exist')
  .requiredOption('--keep-days <n>', 'entries that are younger are left alone', wholeDays(MIN_KEPT_DAYS))
  .option('--prune', 'remove the entries once they are on the disk; their numbers and digests stay')
  .action((path: string, { keepDays, prune = false }: { keepDays: number; prune?: boolean }) =>
    withDatabase(async ({ db }) => {
      const before = new Date((await readDatabaseTime(db)).getTime() - keepDays * MS_PER_DAY);
      const entries = await exportAuditLog({ db, before, path, prune });
      process.stdout.write(`${entries} entries before ${before.toISOString()} are in ${path}`);
      process.stdout.write(prune ? ', and no longer in the database.\n' : '.\n');
    }),
  );

await runCommand(command);
