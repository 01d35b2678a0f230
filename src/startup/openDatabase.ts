/**
 * Opens the configured database, reachable and migrated: an external one by DATABASE_URL, or the embedded
 * one.
 */
import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { findPowersOverRules } from '../db/applicationRole.ts';
import { readDatabase } from '../db/currentDatabase.ts';
import { ASSUMED_SETTINGS, openDatabase, SCHEMA, type DatabaseHandle } from '../db/connection.ts';
import { openEmbeddedPostgres } from '../db/embedded/embeddedPostgres.ts';
import { readPrimary, readReplicas, type PublicReads } from '../db/publicReads.ts';
import { migrate, OtherDatabase, readSchemaAge, type MigrationSet } from '../db/migrate.ts';
import { partsOf, serversOf, serverUrlsOf } from '../lib/databaseUrl.ts';
import type { Logger } from '../lib/logger.ts';
import { familyOf } from '../ledger/network/families.ts';
import {
  databaseUnreachable,
  isLackOfRights,
  isSettingsRefusal,
  losesCommits,
  migratesElsewhere,
  migrationFailed,
  MIGRATED_BY_NEWER,
  migrationNeedsOwner,
  NOT_MIGRATED,
  notTheSameDatabase,
  otherEncoding,
  otherSetting,
  poolerWithoutSessions,
  roleOverRules,
} from './databaseErrors.ts';
import { StartupError } from '../lib/startupErrors.ts';
import { waitAtMost } from '../lib/timeout.ts';

export interface ConfiguredDatabase {
  handle: DatabaseHandle;
  publicReads: PublicReads;
  /** Says to people which database this is, without its password. */
  description: string;
  /**
   * For operators: the role could switch off the database's rules, or a newer version has migrated the
   * database.
   */
  warnings: readonly string[];
  stop(): Promise<void>;
}

const APPLICATION_NAME = 'asset-token-marketplace';
/** A notification arrives within milliseconds; a database that is busy at its start may take longer. */
const NOTIFICATION_TIMEOUT_MS = 5_000;

/**
 * How an older schema is treated:
 * - `migrate`, for servers and `npm run migrate`: it is brought up to date.
 * - `require`, for the other commands, because operators decide the time of a migration: an external database
 *   is refused, and the embedded one brought up to date.
 * - `leave`, for commands that only read: it stays. Not possible with a network that lives in the database,
 *   which needs its tables.
 */
type OlderSchema = 'migrate' | 'require' | 'leave';

interface OpenDatabaseOptions {
  olderSchema?: OlderSchema;
  /** Called before each step that may take seconds, with its description. */
  onProgress?: (message: string) => void;
  /**
   * For a server, which also reads from replicas and follows changes; commands read only from the primary.
   */
  log?: Pick<Logger, 'info' | 'warn'>;
}

/** @throws StartupError */
export async function openConfiguredDatabase(
  config: Config,
  { olderSchema = 'require', onProgress = () => {}, log }: OpenDatabaseOptions = {},
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
  const migrationUrl = embedded?.ownerUrl ?? config.DATABASE_MIGRATION_URL ?? directUrl;
  const handle = openDatabase({
    url,
    directUrl,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: APPLICATION_NAME,
    log,
  });
  const stop = async () => {
    await handle.close();
    await embedded?.stop();
  };
  const warnings: string[] = [];
  try {
    // First, because a lock that migrations take through a pooler could remain in one of the pooler's
    // connections.
    if (!embedded) {
      await checkSessions(handle, { url, directUrl });
      await checkSettings(handle, config, { url, directUrl });
    }
    if (olderSchema !== 'leave') {
      const sets = setsOf(config);
      const { isNewer } =
        olderSchema === 'migrate' || embedded
          ? await bringUpToDate(handle, {
              sets,
              url,
              migrationUrl,
              isEmbedded: embedded !== null,
              onProgress,
            })
          : await requireNewest(handle, { sets, url });
      if (isNewer) warnings.push(MIGRATED_BY_NEWER);
      warnings.push(...(await checkRole(handle, config)));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const publicReads = openPublicReads(handle, config, log);
  const servers = serversOf(url);
  return {
    handle,
    description: embedded
      ? `embedded PostgreSQL at ${servers}, in ${config.DATA_DIR}${embedded.attached ? ' (was running already)' : ''}`
      : `PostgreSQL ${partsOf(url).database} at ${servers}`,
    warnings,
    publicReads,
    async stop() {
      await publicReads.close();
      await stop();
    },
  };
}

/** After this time without a replica's answer, a read is done on the primary. */
const REPLICA_ANSWER_TIMEOUT_MS = 5_000;

function openPublicReads(
  handle: DatabaseHandle,
  {
    DATABASE_READ_URL: readUrl,
    DATABASE_READ_MAX_LAG_SECONDS: seconds,
    DATABASE_POOL_SIZE: poolSize,
  }: Config,
  log: OpenDatabaseOptions['log'],
): PublicReads {
  if (readUrl === undefined || log === undefined) return readPrimary(handle.db);
  const replicas = serverUrlsOf(readUrl).map((url) => ({
    name: serversOf(url),
    handle: openDatabase({
      url,
      poolSize,
      applicationName: APPLICATION_NAME,
      answerTimeoutMs: REPLICA_ANSWER_TIMEOUT_MS,
    }),
  }));
  return readReplicas({ primary: handle, replicas, maxLagMs: seconds * 1000, log });
}

/**
 * A pooler in transaction mode accepts LISTEN and delivers nothing, so that every wait would last until its
 * next poll. So a notification at `url` must arrive at `directUrl`, which also proves that both lead to one
 * database.
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
  if (await waitAtMost(NOTIFICATION_TIMEOUT_MS, heard)) return;
  throw isOneAddress ? poolerWithoutSessions(url) : notTheSameDatabase(url, directUrl);
}

/**
 * Without a pooler, the program sets the settings that it assumes. A commit must outlive a crash of the
 * database, because attempts are sent and callers answered after it.
 * @throws StartupError
 */
async function checkSettings(
  { sql }: DatabaseHandle,
  { NODE_ENV }: Pick<Config, 'NODE_ENV'>,
  { url, directUrl }: { url: string; directUrl: string },
): Promise<void> {
  const read = async (name: string) => {
    const [row] = await sql<{ value: string }[]>`SELECT current_setting(${name}) AS value`;
    return row?.value ?? '';
  };
  const encoding = await read('server_encoding');
  if (encoding !== 'UTF8') throw otherEncoding(url, encoding);
  // A pooler has dropped the setting. Without it, an instance that is suspended in a transaction would keep
  // its locks from the others until it goes on.
  if (url === directUrl && (await read('idle_in_transaction_session_timeout')) === '0') {
    throw poolerWithoutSessions(url);
  }
  for (const [name, assumed] of Object.entries(ASSUMED_SETTINGS)) {
    const value = await read(name);
    if (!value.startsWith(assumed)) throw otherSetting(url, name, value, assumed);
  }
  const [session] = await sql<{ schema: string | null }[]>`SELECT current_schema() AS schema`;
  // The schema is null if the role may not use it yet, which the migration changes.
  if ((session?.schema ?? SCHEMA) !== SCHEMA) {
    throw otherSetting(url, 'search_path', await read('search_path'), SCHEMA);
  }
  if (NODE_ENV === 'production' && (await read('synchronous_commit')) === 'off') throw losesCommits(url);
}

interface Update extends Required<Pick<OpenDatabaseOptions, 'onProgress'>> {
  sets: readonly MigrationSet[];
  url: string;
  migrationUrl: string;
  isEmbedded: boolean;
}

/** @throws StartupError */
async function bringUpToDate(
  { db, sql }: DatabaseHandle,
  { sets, url, migrationUrl, isEmbedded, onProgress }: Update,
): Promise<{ isNewer: boolean }> {
  onProgress("bringing the database's schema up to date");
  const [session] = await sql<{ role: string }[]>`SELECT current_user AS role`;
  try {
    // Read before any change to the database.
    const expected = isEmbedded ? undefined : await readDatabase(db);
    return await migrate(migrationUrl, sets, session?.role, { expected });
  } catch (error) {
    if (isEmbedded) throw migrationFailed(error);
    if (error instanceof OtherDatabase) throw migratesElsewhere(url, migrationUrl);
    throw isLackOfRights(error) ? migrationNeedsOwner(error) : databaseUnreachable(migrationUrl, error);
  }
}

/** @throws StartupError when a migration is missing */
async function requireNewest(
  { sql }: DatabaseHandle,
  { sets, url }: { sets: readonly MigrationSet[]; url: string },
): Promise<{ isNewer: boolean }> {
  const age = await readSchemaAge(sql, sets).catch((error: unknown) => {
    throw isLackOfRights(error) ? migrationNeedsOwner(error) : databaseUnreachable(url, error);
  });
  if (age === 'OLDER') throw new StartupError(NOT_MIGRATED);
  return { isNewer: age === 'NEWER' };
}

/**
 * Runs after the migrations, which create the tables that a role can own.
 * @throws StartupError in production
 */
async function checkRole(handle: DatabaseHandle, config: Config): Promise<string[]> {
  if (config.DATABASE_ROLES === 'single') return [];
  const { role, powers } = await findPowersOverRules(handle.sql);
  if (powers.length === 0) return [];
  const sentence = roleOverRules(role, powers);
  if (config.NODE_ENV === 'production') throw new StartupError(sentence);
  return [sentence];
}

function setsOf({ ledger }: Config): MigrationSet[] {
  return ['platform', ...familyOf(ledger).migrations];
}
