/**
 * The keys of channel accounts on their way into the environment: made here, and kept in a file of the data
 * folder that only its owner can read. They are never printed, so that no terminal history and no log
 * contains them.
 */
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../lib/makeFolder.ts';
import { readIfThere } from '../lib/readIfThere.ts';
import { decodeStrkey, generateSecretKey } from '../lib/strkey.ts';
import { StartupError } from '../lib/startupErrors.ts';

export interface ChannelKeys {
  /** The configured keys come first. */
  secretKeys: readonly string[];
  /** The file with the keys that are not configured yet; null when all are. */
  file: string | null;
}

const FILE_NAME = 'ledger-channels.env';
const VARIABLE = 'LEDGER_CHANNEL_SECRET_KEYS';

/**
 * Collects the configured keys and those made before, and makes more up to `count`. Keys are on disk before
 * they are returned, because an account whose key is lost keeps its funds for ever.
 * @throws StartupError when the file is damaged
 */
export async function collectChannelKeys(options: {
  configured: readonly string[];
  dataDir: string;
  count: number;
  random: (size: number) => Uint8Array;
}): Promise<ChannelKeys> {
  const { configured, dataDir, count, random } = options;
  const file = join(dataDir, FILE_NAME);
  const stored = await readKeys(file);
  const known = [...new Set([...configured, ...stored])];
  const missing = Math.max(0, count - known.length);
  const made = Array.from({ length: missing }, () => generateSecretKey(random));
  const secretKeys = [...known, ...made];
  if (made.length > 0) {
    await makeFolder(dataDir);
    await replaceFile(file, `${VARIABLE}=${secretKeys.join(',')}\n`, random);
  }
  return { secretKeys, file: secretKeys.length > configured.length ? file : null };
}

async function readKeys(file: string): Promise<string[]> {
  const text = await readIfThere(file);
  if (text === null) return [];
  const keys = text.trim().replace(`${VARIABLE}=`, '').split(',');
  if (keys.every((key) => decodeStrkey(key)?.kind === 'seed')) return keys;
  throw new StartupError(
    `${file} is damaged: expected ${VARIABLE}= and secret keys, separated by commas. Restore it, or move it away.`,
  );
}

/** Writes the file completely or not at all. */
async function replaceFile(file: string, text: string, random: (size: number) => Uint8Array): Promise<void> {
  const draft = `${file}.${Buffer.from(random(8)).toString('hex')}.part`;
  await writeFile(draft, text, { mode: 0o600, flush: true });
  await rename(draft, file);
}
