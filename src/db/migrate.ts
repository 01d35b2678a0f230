/**
 * Brings a database to the newest schema. Drizzle's migrator takes no lock, so an advisory lock is held on the
 * migrating connection for the whole run: two instances may start at once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { migrate as runMigrations } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { endpointOf } from '../lib/databaseUrl.ts';
import { ADVISORY_LOCKS } from './advisoryLock.ts';
import { grantApplicationRole } from './applicationRole.ts';
import { SCHEMA, type DatabaseHandle } from './connection.ts';
import { readDatabase } from './currentDatabase.ts';
import { findPrimaryUrl } from './primary.ts';
import { refusedByDatabase } from './refusedByDatabase.ts';

/** Each set has its own history, so that the embedded network's tables and the platform's change independently. */
export const MIGRATION_SETS = ['platform', 'embedded-network'] as const;
export type MigrationSet = (typeof MIGRATION_SETS)[number];

/** A database that can't be reached in this time is reported, instead of blocking the start. */
const CONNECT_TIMEOUT_SECONDS = 10;
/** Another instance's migrations may run first, and they may wait for a table as long as these. */
const OTHER_INSTANCE_TIMEOUT_MS = 300_000;
/**
 * While a migration waits for a table, every later statement on it waits behind the migration, and a request's ends after 8 s. So it
 * waits briefly, gives those in the queue their turn, and tries again: a reconciliation reads tables for a minute.
 */
const LOCK_TIMEOUT_MS = 2_000;
const PAUSE_MS = 3_000;
/** A table that stays locked must not block the start for good. */
const RETRY_FOR_MS = 180_000;
/** A lock that was not available in time, and a deadlock with what the platform does meanwhile. */
const HELD_BY_OTHERS: ReadonlySet<string> = new Set(['55P03', '40P01']);
/** The longest time-out of PostgreSQL, three weeks: postgres.js leaves out a setting that is 0. */
const NO_LIMIT_MS = 2_147_483_647;
const MIGRATIONS_SCHEMA = 'drizzle';
const MIGRATIONS_FOLDER = new URL('../../drizzle/', import.meta.url);

/** The address leads to another database than the one that the program works on: it stays as it is. */
export class OtherDatabase extends Error {
  override readonly name = 'OtherDatabase';
}

interface MigrateOptions {
  /** As readDatabase shows it, where it may be another one than at `url`. */
  expected?: string | undefined;
  folder?: URL;
}

/**
 * @param applicationRole gets the rights that the program needs, when it is another role than that of `url`
 * @returns whether a newer version of the program has migrated the database, so that its schema and rights are left alone
 * @throws OtherDatabase
 */
export async function migrate(
  url: string,
  sets: readonly MigrationSet[],
  applicationRole?: string,
  { expected, folder = MIGRATIONS_FOLDER }: MigrateOptions = {},
): Promise<{ isNewer: boolean }> {
  const primaryUrl = await findPrimaryUrl(url);
  const sql = postgres(primaryUrl, {
    ...endpointOf(primaryUrl),
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    // As in client.ts: its failure would end the process without a sentence.
    fetch_types: false,
    onnotice: () => {},
    // The role's own limits may be meant for requests. A session that ended in a pause would go on as a new one, without the lock.
    connection: {
      application_name: 'migrations',
      search_path: SCHEMA,
      lock_timeout: OTHER_INSTANCE_TIMEOUT_MS,
      statement_timeout: NO_LIMIT_MS,
      idle_session_timeout: NO_LIMIT_MS,
    },
  });
  try {
    if (expected !== undefined && (await readDatabase(drizzle(sql))) !== expected) throw new OtherDatabase();
    await sql`SELECT pg_advisory_lock(${ADVISORY_LOCKS.migrations})`;
    await sql`SELECT set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, false)`;
    let isNewer = false;
    for (const set of sets) {
      const migrations = migrationsOf(set, folder);
      // The migrator begins by making its schema, which the application's role may not, also where it is there.
      const age = await compareSchema(sql, migrations);
      if (age === 'OLDER') await untilUnlocked(() => runMigrations(drizzle(sql), migrations));
      isNewer ||= age === 'NEWER';
    }
    // This version does not know what the newer one needs, and would take it back from servers that run.
    if (sets.length > 0 && applicationRole !== undefined && !isNewer)
      await grantApplicationRole(sql, applicationRole);
    return { isNewer };
  } finally {
    // The lock ends with the connection.
    await sql.end({ timeout: 0 });
  }
}

/** All of `work` is undone when it fails: the migrator runs what is pending in one transaction. */
async function untilUnlocked(work: () => Promise<void>): Promise<void> {
  const end = performance.now() + RETRY_FOR_MS;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      const isHeld = HELD_BY_OTHERS.has(refusedByDatabase(error)?.code ?? '');
      if (!isHeld || performance.now() > end) throw error;
    }
    await delay(PAUSE_MS);
  }
}

type SchemaAge = 'OLDER' | 'SAME' | 'NEWER';
type Statements = Pick<DatabaseHandle['sql'], 'unsafe'>;

/** Changes nothing, and needs the application's role alone. OLDER when one of the sets lacks a migration. */
export async function readSchemaAge(sql: Statements, sets: readonly MigrationSet[]): Promise<SchemaAge> {
  const ages: SchemaAge[] = [];
  for (const set of sets) ages.push(await compareSchema(sql, migrationsOf(set, MIGRATIONS_FOLDER)));
  return (['OLDER', 'NEWER'] as const).find((age) => ages.includes(age)) ?? 'SAME';
}

function migrationsOf(set: MigrationSet, folder: URL) {
  return {
    migrationsFolder: fileURLToPath(new URL(set, folder)),
    migrationsSchema: MIGRATIONS_SCHEMA,
    migrationsTable: `${set.replaceAll('-', '_')}_migrations`,
  };
}

/** What was applied against what is known, by the time of the newest migration, as the migrator itself decides. */
async function compareSchema(
  sql: Statements,
  { migrationsFolder, migrationsTable }: ReturnType<typeof migrationsOf>,
): Promise<SchemaAge> {
  const [history] = await sql.unsafe(
    `SELECT FROM pg_tables WHERE schemaname = '${MIGRATIONS_SCHEMA}' AND tablename = '${migrationsTable}'`,
  );
  if (!history) return 'OLDER';
  const [last] = await sql.unsafe(
    `SELECT max(created_at) AS at FROM ${MIGRATIONS_SCHEMA}.${migrationsTable}`,
  );
  const newest = Math.max(
    ...readMigrationFiles({ migrationsFolder }).map(({ folderMillis }) => folderMillis),
  );
  const at: unknown = last?.['at'];
  if (at == null || Number(at) < newest) return 'OLDER';
  return Number(at) === newest ? 'SAME' : 'NEWER';
}
