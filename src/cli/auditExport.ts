/**
 * `npm run audit:export -- audit.jsonl --keep-days 400 --prune`: old entries of the audit log, as lines of JSON.
 */
import { Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../config/config.ts';
import { readDatabaseTime } from '../db/databaseTime.ts';
import { exportAuditLog } from '../identity/exportAuditLog.ts';
import { openConfiguredDatabase } from '../startup/openDatabase.ts';
import { runCommand } from './runCommand.ts';

/**
 * What happened lately is looked for in the database, and what is under way gets its outcome there. The database removes no
 * younger entries (prune_audit_entries).
 */
const MIN_KEPT_DAYS = 30;
const MS_PER_DAY = 86_400_000;

const days = (text: string): number => {
  const number = Number(text);
  if (Number.isInteger(number) && number >= MIN_KEPT_DAYS) return number;
  throw new InvalidArgumentError(`must be a whole number from ${MIN_KEPT_DAYS} on`);
};

const command = new Command('audit:export')
  .description('Writes old entries of the audit log to a new file, as lines of JSON.')
  .argument('<file>', 'the file; it must not exist')
  .requiredOption('--keep-days <n>', 'entries that are younger are left alone', days)
  .option('--prune', 'remove the entries once they are on the disk; their numbers and digests stay')
  .action(async (path: string, { keepDays, prune = false }: { keepDays: number; prune?: boolean }) => {
    const database = await openConfiguredDatabase(await loadConfig());
    try {
      const now = await readDatabaseTime(database.handle.db);
      const before = new Date(now.getTime() - keepDays * MS_PER_DAY);
      const entries = await exportAuditLog({ db: database.handle.db, before, path, prune });
      process.stdout.write(`${entries} entries before ${before.toISOString()} are in ${path}`);
      process.stdout.write(prune ? ', and no longer in the database.\n' : '.\n');
    } finally {
      await database.stop();
    }
  });

await runCommand(command);
