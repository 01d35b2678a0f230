/**
 * A database that goes back to how it was, in a few milliseconds: copying it anew takes a second.
 */
import postgres from 'postgres';
import type { TestDatabase } from './database/database.ts';

export interface Restorable {
  /** Each statement changes at least one row, past triggers and foreign keys. @throws Error when one changes none */
  corrupt(statements: string): Promise<void>;
  /** The same for a statement that may change none. */
  touch(statement: string): Promise<void>;
  /** Nothing else may write meanwhile. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

export async function makeRestorable({ url }: Pick<TestDatabase, 'url'>): Promise<Restorable> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  // Foreign keys are triggers to PostgreSQL, and off as well.
  await sql`SET session_replication_role = replica`;
  const rows = await sql<
    { name: string }[]
  >`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
  const tables = rows.map(({ name }) => name);
  // One snapshot: the platform's jobs write beside it, and tables of two moments contradict each other.
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
      // In one round trip, and one transaction.
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
