/**
 * Runs a command line program: a known cause of failure becomes one sentence and a non-zero exit code.
 */
import { inspect } from 'node:util';
import type { Command } from 'commander';
import { explainStartupError } from '../startup/explainStartupError.ts';

/**
 * The exit code of a command that did not run: the database is unavailable, or a setting or an option is
 * wrong. Commands use 1 and 2 for their findings.
 */
const NOT_RUN = 3;

export async function runCommand(command: Command): Promise<void> {
  process.stdout.on('error', endQuietly);
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NOT_RUN));
  process.once('uncaughtException', (error) => {
    explain(error);
    process.exit();
  });
  try {
    await command.parseAsync();
  } catch (error) {
    explain(error);
  }
}

function explain(error: unknown): void {
  process.stderr.write(
    `${explainStartupError(error) ?? (error instanceof Error ? error.stack : inspect(error))}\n`,
  );
  // The exit code of a verdict stays if the command fails after it.
  process.exitCode ??= NOT_RUN;
}

/** The reader of a pipe, such as `head`, may close it early; work under way still ends in order. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
