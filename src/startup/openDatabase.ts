/**
 * The configured database, reachable and migrated: one's own by DATABASE_URL, or the embedded one.
 */
import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { openDatabase, type DatabaseHandle } from '../db/connection.ts';
import { openEmbeddedPostgres } from '../db/embedded/embeddedPostgres.ts';
import { migrate, type MigrationSet } from '../db/migrate.ts';
import { familyOf } from '../ledger/network/families.ts';
import {
  databaseUnreachable,
  isSettingsRefusal,
  migrationFailed,
  notTheSameDatabase,
  poolerWithoutSessions,
} from '../lib/startupErrors.ts';
import { TooLate, within } from '../lib/within.ts';

export interface ConfiguredDatabase {
  handle: DatabaseHandle;
  /** For people: which database this is, without its password. */
  description: string;
  stop(): Promise<void>;
}

const APPLICATION_NAME = 'asset-token-marketplace';
/** A notification is there within milliseconds; a database that is busy at its start may take longer. */
const NOTIFICATION_TIMEOUT_MS = 5_000;

interface OpenDatabaseOptions {
  /** Leave its schema as it is: for who only looks. Not with a network that lives in it: that needs its tables. */
  asItIs?: boolean;
  /** Told what is about to be done that may take seconds. */
  onProgress?: (message: string) => void;
}

/** @throws StartupError */
export async function openConfiguredDatabase(
  config: Config,
  { asItIs = false, onProgress = () => {} }: OpenDatabaseOptions = {},
): Promise<ConfiguredDatabase> {
  const embedded =
    config.databasePassword === null
      ? null
      : await openEmbeddedPostgres({
          dataDir: config.DATA_DIR,
          password: config.databasePassword,
          onProgress,
        });
  const url = embedded?.url ?? config.DATABASE_URL ?? '';
  const directUrl = embedded?.url ?? config.DATABASE_DIRECT_URL ?? url;
  const handle = openDatabase({
    url,
    directUrl,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: APPLICATION_NAME,
  });
  const stop = async () => {
    await handle.close();
    await embedded?.stop();
  };
  try {
    // First of all: a lock that migrations take through a pooler could stay behind in one of its connections.
    if (!embedded) await checkSessions(handle, { url, directUrl });
    if (!asItIs) onProgress("bringing the database's schema up to date");
    await migrate(directUrl, asItIs ? [] : setsOf(config)).catch((error: unknown) => {
      throw embedded ? migrationFailed(error) : databaseUnreachable(directUrl, error);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const { host, pathname } = new URL(url);
  return {
    handle,
    description: embedded
      ? `embedded PostgreSQL at ${host}, in ${config.DATA_DIR}${embedded.attached ? ' (was running already)' : ''}`
      : `PostgreSQL ${pathname.slice(1)} at ${host}`,
    stop,
  };
}

/**
 * A pooler in transaction mode takes LISTEN and delivers nothing: every wait would last until its next look. So what is
 * notified at `url` must be heard at `directUrl`, which also tells that both lead to one database.
 * @throws StartupError
 */
async function checkSessions(
  handle: DatabaseHandle,
  { url, directUrl }: { url: string; directUrl: string },
): Promise<void> {
  const isOneAddress = url === directUrl;
  const channel = `session_check_${randomUUID().replaceAll('-', '')}`;
  let hear: () => void = () => {};
  const heard = new Promise<void>((resolve) => (hear = resolve));
  await handle
    .listen(channel, hear, () => {})
    .catch((error: unknown) => {
      throw databaseUnreachable(directUrl, error);
    });
  await handle.sql`SELECT pg_notify(${channel}, '')`.catch((error: unknown) => {
    throw isOneAddress && isSettingsRefusal(error)
      ? poolerWithoutSessions(url)
      : databaseUnreachable(url, error);
  });
  await within(NOTIFICATION_TIMEOUT_MS, heard).catch((error: unknown) => {
    if (!(error instanceof TooLate)) throw error;
    throw isOneAddress ? poolerWithoutSessions(url) : notTheSameDatabase(url, directUrl);
  });
}

function setsOf({ ledger }: Config): MigrationSet[] {
  return ['platform', ...familyOf(ledger).migrations];
}
