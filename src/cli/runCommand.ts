/**
 * Runs a command line program: a known cause of failure becomes one sentence and a non-zero exit.
 */
import type { Command } from 'commander';
import { explainStartupError } from '../startup/explainStartupError.ts';

export async function runCommand(command: Command): Promise<void> {
  process.stdout.on('error', endQuietly);
  try {
    await command.parseAsync();
  } catch (error) {
    process.stderr.write(
      `${explainStartupError(error) ?? String(error instanceof Error ? error.stack : error)}\n`,
    );
    process.exitCode = 1;
  }
}

/** The reader of a pipe, such as `head`, may close it early; work under way still ends in order. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
