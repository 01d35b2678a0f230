/**
 * Runs a command line program: known causes of failure are one sentence and a non-zero exit.
 */
import type { Command } from 'commander';
import { explainStartupError } from '../startupErrors.ts';

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

/** Who pipes into `head` has seen enough; what is under way still ends in order. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
