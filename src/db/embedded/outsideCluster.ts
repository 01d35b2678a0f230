/**
 * A cluster that is not in its data folder but at the end of a link there, because its user can't enter that folder. A copy of
 * the folder has the same link: opened beside the original, it would serve and change the original's database.
 */
import { realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere } from '../../lib/readIfThere.ts';
import { StartupError } from '../../lib/startupErrors.ts';

/** Beside the cluster: its own folder has to be empty when it is made. */
export const homeFileOf = (folder: string) => `${folder}.data-dir`;

export async function noteHome(folder: string, dataFolder: string): Promise<void> {
  await writeFile(homeFileOf(folder), await realpath(dataFolder));
}

/**
 * Says where the cluster is when it is outside. One that an operator has moved and linked names no home.
 * @throws StartupError when it was made for another data folder
 */
export async function checkHome(
  folder: string,
  dataFolder: string,
  onProgress: (message: string) => void,
): Promise<void> {
  const here = await realpath(dataFolder);
  const place = join(here, 'postgres');
  if (folder === place) return;
  const homeFile = homeFileOf(folder);
  const home = (await readIfThere(homeFile))?.trim() ?? null;
  if (home !== null && home !== here) {
    throw new StartupError(
      `${place} leads to ${folder}, which is the database of ${home}: a copy of that folder must not open it. Copy ${folder} too, ` +
        `and let ${place} lead to the copy. If ${home} was moved to ${here}, write its new path into ${homeFile}.`,
    );
  }
  onProgress(`the database of ${here} is in ${folder}: a backup needs both`);
}
