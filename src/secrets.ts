/**
 * Secrets for embedded defaults: generated at the first start and kept in the data folder, readable by its
 * owner alone. Without them a second start would find a database that it can't open.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { withFileLock } from './db/embedded/fileLock.ts';
import { generateSecretKey } from './ledger/network/embedded/strkey.ts';
import { StartupError } from './startupErrors.ts';

const storedSecrets = z.object({
  ledgerSecretKey: z.string(),
  appSecret: z.string(),
  authSecret: z.string(),
  databasePassword: z.string(),
});

export type Secrets = z.infer<typeof storedSecrets>;

const SECRET_BYTES = 32;

/** Two processes that start at once end up with the same secrets. */
export async function loadSecrets(dataDir: string, random: (size: number) => Uint8Array): Promise<Secrets> {
  await mkdir(dataDir, { recursive: true });
  const path = join(dataDir, 'secrets.json');
  return (
    (await readSecrets(path)) ??
    (await withFileLock(
      `${path}.lock`,
      async () => (await readSecrets(path)) ?? (await create(path, random)),
    ))
  );
}

async function readSecrets(path: string): Promise<Secrets | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
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

async function create(path: string, random: (size: number) => Uint8Array): Promise<Secrets> {
  const secret = () => Buffer.from(random(SECRET_BYTES)).toString('base64url');
  const secrets: Secrets = {
    ledgerSecretKey: generateSecretKey(random),
    appSecret: secret(),
    authSecret: secret(),
    databasePassword: secret(),
  };
  await writeFile(`${path}.part`, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.part`, path);
  return secrets;
}
