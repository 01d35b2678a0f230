/**
 * The process of a PostgreSQL, for tests that kill it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The id of the server's first process; 0 when no server has started on this folder, or it has ended. */
export async function serverPidOf(dataFolder: string): Promise<number> {
  const text = await readFile(join(dataFolder, 'postmaster.pid'), 'utf8').catch(() => '');
  return Number(text.split('\n')[0]) || 0;
}
