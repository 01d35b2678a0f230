/**
 * Brings a database to the newest schema. Two instances may start at once: Drizzle's migrator doesn't lock,
 * so an advisory lock is held on the one connection that migrates, for the whole run.
 */
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate as runMigrations } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { ADVISORY_LOCKS } from './advisoryLock.ts';

/** Each set keeps its own history, so that an adapter's storage and the platform's move on independently. */
export type MigrationSet = 'platform' | 'embedded-network';

/** A database that can't be reached in this time is reported as such, instead of hanging a start. */
const CONNECT_TIMEOUT_SECONDS = 10;
/** Another instance's migrations may run before ours; and a table that stays locked must not hang a start. */
const LOCK_TIMEOUT_MS = 120_000;
const MIGRATIONS_SCHEMA = 'drizzle';
const MIGRATIONS_FOLDER = new URL('../../drizzle/', import.meta.url);

export async function migrate(url: string, sets: readonly MigrationSet[]): Promise<void> {
  const sql = postgres(url, {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    onnotice: () => {},
    connection: { application_name: 'migrations', lock_timeout: LOCK_TIMEOUT_MS },
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
    // The lock falls with the connection.
    await sql.end({ timeout: 5 });
  }
}
