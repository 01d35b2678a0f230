/**
 * Outlives a test run and removes its files. When the run ends, even by kill -9, the pipe to this process's
 * standard input closes. After an orderly end nothing is left to remove.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { serverPidOf } from '../../../devnet/serverPid.ts';

/** The run's own folder, which contains PostgreSQL, and other folders of the run. */
const [folder = '', ...others] = process.argv.slice(2);
const dataFolder = join(folder, 'postgres');

/** PostgreSQL removes the file last of all; 10 seconds are enough for that. */
const MAX_LOOKS = 100;
const POLL_INTERVAL_MS = 100;

process.stdin.resume();
process.stdin.once('close', () => void clearUp());

async function clearUp(): Promise<void> {
  const pid = await serverPidOf(dataFolder);
  // SIGQUIT saves the time for writing data that is thrown away.
  if (pid > 0) process.kill(pid, 'SIGQUIT');
  for (let looks = 0; looks < MAX_LOOKS && (await serverPidOf(dataFolder)) > 0; looks++)
    await delay(POLL_INTERVAL_MS);
  for (const made of [folder, ...others]) await rm(made, { recursive: true, force: true });
}
