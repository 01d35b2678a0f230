/**
 * Outlives a test run to clear up after it: however the run ends, also by kill -9, its end of our standard
 * input closes. After an orderly end there is nothing left to do.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The run's own, with PostgreSQL in it, and others that go with it. */
const [folder = '', ...others] = process.argv.slice(2);
const pidFile = join(folder, 'postgres', 'postmaster.pid');

/** PostgreSQL removes the file as the last thing that it does; 10 seconds are plenty for that. */
const MAX_LOOKS = 100;
const LOOK_EVERY_MS = 100;

process.stdin.resume();
process.stdin.once('close', () => void clearUp());

async function clearUp(): Promise<void> {
  const pid = await serverPid();
  // Its data is thrown away: it needs no time to write.
  if (pid !== null) process.kill(pid, 'SIGQUIT');
  for (let looks = 0; looks < MAX_LOOKS && (await serverPid()) !== null; looks++) await delay(LOOK_EVERY_MS);
  for (const made of [folder, ...others]) await rm(made, { recursive: true, force: true });
}

async function serverPid(): Promise<number | null> {
  const text = await readFile(pidFile, 'utf8').catch(() => '');
  return Number(text.split('\n')[0]) || null;
}
