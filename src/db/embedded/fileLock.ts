/**
 * A lock between processes of one machine, as a file that names its owner.
 */
import { open, readFile, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { StartupError } from '../../startupErrors.ts';

/** Starting or stopping a cluster takes seconds; who waits longer waits for something that hangs. */
const MAX_WAIT_MS = 60_000;
const RETRY_MS = 100;

/** Runs `work` while holding the lock. A lock whose owner no longer lives is taken over. */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + MAX_WAIT_MS;
  while (!(await tryCreate(path))) {
    const owner = Number(await readFile(path, 'utf8').catch(() => '0'));
    // A file without a number yet is being written; it is given the time until the deadline.
    if (owner > 0 && !isAlive(owner)) await rm(path, { force: true });
    else if (performance.now() > deadlineMs) {
      throw new StartupError(`Process ${owner} has held ${path} for a minute. Stop it, or remove the file.`);
    } else await delay(RETRY_MS);
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function tryCreate(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx');
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process is alive too.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
