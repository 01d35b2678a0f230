/**
 * A cluster that is not in its data folder but at the end of a link there, because its user can't enter that
 * folder. A copy of the data folder has the same link: a server opened on the copy would serve and change the
 * original's database.
 */
import { realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere } from '../../lib/readIfThere.ts';
import { StartupError } from '../../lib/startupErrors.ts';

/** The file is beside the cluster, whose folder has to be empty when it is made. */
export const homeFileOf = (folder: string) => `${folder}.data-dir`;

export async function noteHome(folder: string, dataFolder: string): Promise<void> {
  await writeFile(homeFileOf(folder), await realpath(dataFolder));
}

/**
 * Reports where a cluster outside of the data folder is. A cluster that an operator has moved and linked has
 * no home file.
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
