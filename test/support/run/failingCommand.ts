/**
 * A command whose database ends while its action waits for something else.
 */
import { Command } from 'commander';
import { runCommand } from '../../../src/cli/runCommand.ts';
import { StartupError } from '../../../src/lib/startupErrors.ts';

const WORK_MS = 60_000;

await runCommand(
  new Command('failing').action(async () => {
    setImmediate(() => {
      throw new StartupError('The database has ended.');
    });
    await new Promise((resolve) => setTimeout(resolve, WORK_MS));
  }),
);
