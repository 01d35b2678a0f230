import { readFile } from 'node:fs/promises';

/** The text of a file; null when there is none. @throws every other failure */
export async function readIfThere(path: string | URL): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}
