/**
 * Outlives a test run and removes its files. When the run ends, even by kill -9, the pipe to this process's
 * standard input closes. After an orderly end nothing is left to remove.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The run's own folder, which contains PostgreSQL, and other folders of the run. */
const [folder = '', ...others] = process.argv.slice(2);
const pidFile = join(folder, 'postgres', 'postmaster.pid');

/** PostgreSQL removes the file last of all; 10 seconds are enough for that. */
const MAX_LOOKS = 100;
const POLL_INTERVAL_MS = 100;

process.stdin.resume();
process.stdin.once('close', () => void clearUp());

async function clearUp(): Promise<void> {
  const pid = await serverPid();
  // SIGQUIT saves the time for writing data that is thrown away.
  if (pid !== null) process.kill(pid, 'SIGQUIT');
  for (let looks = 0; looks < MAX_LOOKS && (await serverPid()) !== null; looks++)
    await delay(POLL_INTERVAL_MS);
  for (const made of [folder, ...others]) await rm(made, { recursive: true, force: true });
}

async function serverPid(): Promise<number | null> {
  const text = await readFile(pidFile, 'utf8').catch(() => '');
  return Number(text.split('\n')[0]) || null;
}
