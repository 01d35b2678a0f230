/**
 * The configured database, reachable and migrated: one's own by DATABASE_URL, or the embedded one.
 */
import type { Config } from './config.ts';
import { openDatabase, type DatabaseHandle } from './db/connection.ts';
import { openEmbeddedPostgres } from './db/embedded/embeddedPostgres.ts';
import { migrate, type MigrationSet } from './db/migrate.ts';
import { databaseUnreachable, migrationFailed } from './startupErrors.ts';

export interface ConfiguredDatabase {
  handle: DatabaseHandle;
  /** For people: which database this is, without its password. */
  description: string;
  stop(): Promise<void>;
}

const APPLICATION_NAME = 'asset-token-marketplace';

export interface OpenDatabaseOptions {
  /** Leave its schema as it is: for who only looks. The embedded network needs its own, so not with that. */
  asItIs?: boolean;
}

/** @throws StartupError */
export async function openConfiguredDatabase(
  config: Config,
  { asItIs = false }: OpenDatabaseOptions = {},
): Promise<ConfiguredDatabase> {
  const embedded =
    config.databasePassword === null
      ? null
      : await openEmbeddedPostgres({ dataDir: config.DATA_DIR, password: config.databasePassword });
  const url = embedded?.url ?? config.DATABASE_URL ?? '';
  try {
    await migrate(url, asItIs ? [] : setsOf(config));
  } catch (error) {
    await embedded?.stop();
    throw embedded ? migrationFailed(error) : databaseUnreachable(url, error);
  }
  const handle = openDatabase({
    url,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: APPLICATION_NAME,
  });
  const { host, pathname } = new URL(url);
  return {
    handle,
    description: embedded
      ? `embedded PostgreSQL at ${host}, in ${config.DATA_DIR}${embedded.attached ? ' (was running already)' : ''}`
      : `PostgreSQL ${pathname.slice(1)} at ${host}`,
    async stop() {
      await handle.close();
      await embedded?.stop();
    },
  };
}

function setsOf({ ledger }: Config): MigrationSet[] {
  return ledger.family === 'embedded' ? ['platform', 'embedded-network'] : ['platform'];
}
