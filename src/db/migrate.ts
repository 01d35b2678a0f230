/**
 * Brings a database to the newest schema. Drizzle's migrator takes no lock, so an advisory lock is held on the
 * migrating connection for the whole run: two instances may start at once.
 */
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate as runMigrations } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { ADVISORY_LOCKS } from './advisoryLock.ts';

/** Each set has its own history, so that the embedded network's tables and the platform's change independently. */
export type MigrationSet = 'platform' | 'embedded-network';

/** A database that can't be reached in this time is reported, instead of blocking the start. */
const CONNECT_TIMEOUT_SECONDS = 10;
/** Another instance's migrations may run first; a table that stays locked must not block the start. */
const LOCK_TIMEOUT_MS = 120_000;
const MIGRATIONS_SCHEMA = 'drizzle';
const MIGRATIONS_FOLDER = new URL('../../drizzle/', import.meta.url);

export async function migrate(url: string, sets: readonly MigrationSet[]): Promise<void> {
  const sql = postgres(url, {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    onnotice: () => {},
    // The role's own limits may be meant for requests.
    connection: { application_name: 'migrations', lock_timeout: LOCK_TIMEOUT_MS, statement_timeout: 0 },
  });
  try {
    await sql`SELECT pg_advisory_lock(${ADVISORY_LOCKS.migrations})`;
    for (const set of sets) {
      await runMigrations(drizzle(sql), {
        migrationsFolder: fileURLToPath(new URL(set, MIGRATIONS_FOLDER)),
        migrationsSchema: MIGRATIONS_SCHEMA,
        migrationsTable: `${set.replaceAll('-', '_')}_migrations`,
      });
    }
  } finally {
    // The lock ends with the connection.
    await sql.end({ timeout: 5 });
  }
}
