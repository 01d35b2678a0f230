/**
 * A database that a test can restore in a few milliseconds, because a new copy takes a second.
 */
import postgres from 'postgres';
import type { TestDatabase } from './database/database.ts';

export interface Restorable {
  /**
   * Runs statements that each change at least one row, with triggers and foreign keys off. @throws Error when
   * one changes none
   */
  corrupt(statements: string): Promise<void>;
  /** Runs a statement that may change no row. */
  touch(statement: string): Promise<void>;
  /** Restores all tables. Nothing else may write meanwhile. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

export async function makeRestorable({ url }: Pick<TestDatabase, 'url'>): Promise<Restorable> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  // Foreign keys are off too: PostgreSQL implements them as triggers.
  await sql`SET session_replication_role = replica`;
  const rows = await sql<
    { name: string }[]
  >`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
  const tables = rows.map(({ name }) => name);
  // One snapshot, because the platform's jobs write concurrently, and copies of two moments would contradict
  // each other.
  await sql.begin('ISOLATION LEVEL REPEATABLE READ', async (tx) => {
    await tx`CREATE SCHEMA kept`;
    for (const table of tables)
      await tx`CREATE TABLE ${tx(`kept.${table}`)} AS TABLE ${tx(`public.${table}`)}`;
  });
  return {
    async corrupt(statements) {
      for (const statement of statements.split(';').filter((text) => text.trim() !== '')) {
        const { count, command } = await sql.unsafe(statement);
        if (count === 0 && command !== 'DROP TABLE') throw new Error(`it changed nothing: ${statement}`);
      }
    },
    async touch(statement) {
      await sql.unsafe(statement);
    },
    async restore() {
      // One round trip and one transaction.
      await sql.unsafe(
        tables
          .map(
            (table) =>
              `DELETE FROM public.${table}; INSERT INTO public.${table} OVERRIDING SYSTEM VALUE TABLE kept.${table}`,
          )
          .join('; '),
      );
    },
    async close() {
      await sql`DROP SCHEMA kept CASCADE`;
      await sql.end();
    },
  };
}
