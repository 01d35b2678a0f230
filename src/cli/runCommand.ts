/**
 * Runs a command line program: a known cause of failure becomes one sentence and a non-zero exit.
 */
import type { Command } from 'commander';
import { explainStartupError } from '../startup/explainStartupError.ts';

/** @param failureCode of any end but the command's own: also of options that are wrong */
export async function runCommand(command: Command, failureCode = 1): Promise<void> {
  process.stdout.on('error', endQuietly);
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : failureCode));
  try {
    await command.parseAsync();
  } catch (error) {
    process.stderr.write(
      `${explainStartupError(error) ?? String(error instanceof Error ? error.stack : error)}\n`,
    );
    // A verdict that was given before the end failed stays.
    process.exitCode ??= failureCode;
  }
}

/** The reader of a pipe, such as `head`, may close it early; work under way still ends in order. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
