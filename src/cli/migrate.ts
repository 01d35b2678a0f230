/**
 * `npm run migrate`: brings the database to the newest schema, so that servers need no role that owns the
 * schema.
 */
import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { openConfiguredDatabase } from '../startup/openDatabase.ts';
import { runCommand } from './runCommand.ts';

const command = new Command('migrate')
  .description(
    'Brings the database to the newest schema as the role of DATABASE_MIGRATION_URL, and grants the role of DATABASE_URL what ' +
      'it needs. Servers do it at their start where that address is set.',
  )
  .action(async () => {
    const database = await openConfiguredDatabase(await loadConfig(), { olderSchema: 'migrate' });
    await database.stop();
    for (const warning of database.warnings) process.stderr.write(`${warning}\n`);
    process.stdout.write(`${database.description} has the newest schema.\n`);
  });

await runCommand(command);
