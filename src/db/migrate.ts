/**
 * Brings a database to the newest schema. Drizzle's migrator takes no lock, so an advisory lock is held on
 * the migrating connection for the whole run: two instances may start at once.
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

/** Each set has its own history: the embedded network's tables change independently of the platform's. */
export const MIGRATION_SETS = ['platform', 'embedded-network'] as const;
export type MigrationSet = (typeof MIGRATION_SETS)[number];

/** A database that can't be reached in this time is reported, instead of blocking the start. */
const CONNECT_TIMEOUT_SECONDS = 10;
/** Time for another instance's migrations, which may run first and wait for a table as long as these. */
const OTHER_INSTANCE_TIMEOUT_MS = 300_000;
/**
 * While a migration waits for a table, every later statement on the table waits behind the migration, and a
 * request's statement ends after 8 s. So the migration waits briefly, lets the queue pass, and tries again: a
 * reconciliation reads tables for a minute.
 */
const LOCK_TIMEOUT_MS = 2_000;
const PAUSE_MS = 3_000;
/** How long a migration is retried: a table that stays locked must not block the start for ever. */
const RETRY_FOR_MS = 180_000;
/** SQLSTATEs of a lock that was not available in time, and of a deadlock with the platform's other work. */
const HELD_BY_OTHERS: ReadonlySet<string> = new Set(['55P03', '40P01']);
const MIGRATIONS_SCHEMA = 'drizzle';
const MIGRATIONS_FOLDER = new URL('../../drizzle/', import.meta.url);

/** The address leads to another database than the program's; that database is not changed. */
export class OtherDatabase extends Error {
  override readonly name = 'OtherDatabase';
}

interface MigrateOptions {
  /** The expected database, in readDatabase's form, if `url` may lead to another one. */
  expected?: string | undefined;
  folder?: URL;
}

/**
 * @param applicationRole gets the rights that the program needs, when it is another role than that of `url`
 * @returns whether a newer program version has migrated the database; schema and rights are then left alone
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
    // A failure of that query would end the process without a message (see client.ts).
    fetch_types: false,
    onnotice: () => {},
    connection: {
      application_name: 'migrations',
      search_path: SCHEMA,
      lock_timeout: OTHER_INSTANCE_TIMEOUT_MS,
    },
  });
  try {
    if (expected !== undefined && (await readDatabase(drizzle(sql))) !== expected) throw new OtherDatabase();
    // The role's own limits may be meant for requests. A session that one of them ends would continue as a
    // new one, without the lock. PostgreSQL before 17 lacks transaction_timeout.
    await sql`SELECT set_config(name, '0', false) FROM pg_settings
      WHERE name IN ('statement_timeout', 'idle_session_timeout', 'transaction_timeout')`;
    await sql`SELECT pg_advisory_lock(${ADVISORY_LOCKS.migrations})`;
    await sql`SELECT set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, false)`;
    let isNewer = false;
    for (const set of sets) {
      const migrations = migrationsOf(set, folder);
      // The migrator begins by making its schema, even if it exists, which the application's role may not.
      const age = await compareSchema(sql, migrations);
      if (age === 'OLDER') await untilUnlocked(() => runMigrations(drizzle(sql), migrations));
      isNewer ||= age === 'NEWER';
    }
    // This version does not know the newer one's rights, and would revoke them from running servers.
    if (sets.length > 0 && applicationRole !== undefined && !isNewer)
      await grantApplicationRole(sql, applicationRole);
    return { isNewer };
  } finally {
    // The lock ends with the connection.
    await sql.end({ timeout: 0 });
  }
}

/**
 * Repeats the work while its tables are locked. A failed run is undone as a whole, because the migrator runs
 * the pending migrations in one transaction.
 */
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

/** Changes nothing; the application's role is enough. OLDER when one of the sets lacks a migration. */
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

/** Compares applied with known migrations by the time of the newest one, as the migrator does. */
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
