/**
 * Runs a command line program: a known cause of failure becomes one sentence and a non-zero exit.
 */
import { inspect } from 'node:util';
import type { Command } from 'commander';
import { explainStartupError } from '../startup/explainStartupError.ts';

/** The exit code of what did not run: the database is away, or a setting or an option is wrong. Commands have 1 and 2 for what they find. */
const NOT_RUN = 3;

export async function runCommand(command: Command): Promise<void> {
  process.stdout.on('error', endQuietly);
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NOT_RUN));
  try {
    await command.parseAsync();
  } catch (error) {
    process.stderr.write(
      `${explainStartupError(error) ?? (error instanceof Error ? error.stack : inspect(error))}\n`,
    );
    // A verdict that was given before the end failed stays.
    process.exitCode ??= NOT_RUN;
  }
}

/** The reader of a pipe, such as `head`, may close it early; work under way still ends in order. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
