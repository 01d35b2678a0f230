/**
 * Secrets for embedded defaults: generated at the first start and kept in the data folder, readable by its
 * owner only. Without them a second start would find a database that it can't open.
 */
import { link, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { codeOf } from '../lib/errors.ts';
import { makeFolder } from '../lib/makeFolder.ts';
import { readIfThere } from '../lib/readIfThere.ts';
import { generateSecretKey } from '../lib/strkey.ts';
import { StartupError } from '../lib/startupErrors.ts';

const storedSecrets = z.object({
  ledgerSecretKey: z.string(),
  appSecret: z.string(),
  authSecret: z.string(),
  databasePassword: z.string(),
});

type Secrets = z.infer<typeof storedSecrets>;

const SECRET_BYTES = 32;

/** Two processes that start at once get the same secrets. @throws StartupError when the file is damaged */
export async function loadSecrets(dataDir: string, random: (size: number) => Uint8Array): Promise<Secrets> {
  await makeFolder(dataDir);
  const path = join(dataDir, 'secrets.json');
  const known = await readSecrets(path);
  if (known) return known;
  const made = makeSecrets(random);
  // The second process finds the name taken, and uses the stored secrets.
  const draft = `${path}.${Buffer.from(random(8)).toString('hex')}.part`;
  return (await publish(draft, path, made)) ? made : loadSecrets(dataDir, random);
}

async function readSecrets(path: string): Promise<Secrets | null> {
  const text = await readIfThere(path);
  if (text === null) return null;
  try {
    return storedSecrets.parse(JSON.parse(text));
  } catch (error) {
    throw new StartupError(
      `${path} is damaged. Restore it from a backup: the database beside it opens with its secrets alone.`,
      { cause: error },
    );
  }
}

function makeSecrets(random: (size: number) => Uint8Array): Secrets {
  const secret = () => Buffer.from(random(SECRET_BYTES)).toString('base64url');
  return {
    ledgerSecretKey: generateSecretKey(random),
    appSecret: secret(),
    authSecret: secret(),
    databasePassword: secret(),
  };
}

/** Writes the file completely or not at all. @returns false when another process has written it already */
async function publish(draft: string, path: string, secrets: Secrets): Promise<boolean> {
  try {
    await writeFile(draft, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, flush: true });
    await link(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
