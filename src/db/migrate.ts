/**
 * Brings a database to the newest schema. Drizzle's migrator takes no lock, so an advisory lock is held on the
 * migrating connection for the whole run: two instances may start at once.
 */
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { migrate as runMigrations } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { ADVISORY_LOCKS } from './advisoryLock.ts';
import { grantApplicationRole } from './applicationRole.ts';
import { findPrimaryUrl } from './primary.ts';

/** Each set has its own history, so that the embedded network's tables and the platform's change independently. */
export const MIGRATION_SETS = ['platform', 'embedded-network'] as const;
export type MigrationSet = (typeof MIGRATION_SETS)[number];

/** A database that can't be reached in this time is reported, instead of blocking the start. */
const CONNECT_TIMEOUT_SECONDS = 10;
/** Another instance's migrations may run first; a table that stays locked must not block the start. */
const LOCK_TIMEOUT_MS = 120_000;
const MIGRATIONS_SCHEMA = 'drizzle';
const MIGRATIONS_FOLDER = new URL('../../drizzle/', import.meta.url);

/**
 * @param applicationRole gets the rights that the program needs, when it is another role than that of `url`
 * @returns whether a newer version of the program has migrated the database, so that its schema and rights are left alone
 */
export async function migrate(
  url: string,
  sets: readonly MigrationSet[],
  applicationRole?: string,
): Promise<{ isNewer: boolean }> {
  const sql = postgres(await findPrimaryUrl(url), {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    // As in client.ts: its failure would end the process without a sentence.
    fetch_types: false,
    onnotice: () => {},
    // The role's own limits may be meant for requests.
    connection: { application_name: 'migrations', lock_timeout: LOCK_TIMEOUT_MS, statement_timeout: 0 },
  });
  try {
    await sql`SELECT pg_advisory_lock(${ADVISORY_LOCKS.migrations})`;
    let isNewer = false;
    for (const set of sets) {
      const migrations = {
        migrationsFolder: fileURLToPath(new URL(set, MIGRATIONS_FOLDER)),
        migrationsSchema: MIGRATIONS_SCHEMA,
        migrationsTable: `${set.replaceAll('-', '_')}_migrations`,
      };
      // The migrator begins by making its schema, which the application's role may not, also where it is there.
      const age = await compareSchema(sql, migrations);
      if (age === 'OLDER') await runMigrations(drizzle(sql), migrations);
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

/** What was applied against what is known, by the time of the newest migration, as the migrator itself decides. */
async function compareSchema(
  sql: postgres.Sql,
  migrations: { migrationsFolder: string; migrationsTable: string },
): Promise<'OLDER' | 'SAME' | 'NEWER'> {
  const { migrationsFolder, migrationsTable } = migrations;
  const [history] = await sql`
    SELECT FROM pg_tables WHERE schemaname = ${MIGRATIONS_SCHEMA} AND tablename = ${migrationsTable}`;
  if (!history) return 'OLDER';
  const [last] = await sql<{ at: string | null }[]>`
    SELECT max(created_at) AS at FROM ${sql(`${MIGRATIONS_SCHEMA}.${migrationsTable}`)}`;
  const newest = Math.max(
    ...readMigrationFiles({ migrationsFolder }).map(({ folderMillis }) => folderMillis),
  );
  if (last?.at == null || Number(last.at) < newest) return 'OLDER';
  return Number(last.at) === newest ? 'SAME' : 'NEWER';
}
