/**
 * Rules that every table and function of the database needs, so that a migration that forgets one fails here.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

/** Tables whose rows end, follow from others, or store where a job goes on. */
const REMOVABLE = [
  'feed_head',
  'final_ledger',
  'indexer_events',
  'indexer_registrations',
  'rate_limits',
  'reconciled_invariants',
  'reconciliation_schedule',
  'retirement_totals',
  'transparency_open_entries',
];

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.drop();
});

/** @param bit of pg_trigger.tgtype: 8 is DELETE, 32 is TRUNCATE */
const tablesWithoutRuleOn = async (bit: number) => {
  const rows = await database.handle.sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgtype & 2 <> 0 AND t.tgtype & ${bit} <> 0)
    ORDER BY 1`;
  return rows.map(({ name }) => name);
};

it('rows of a table stay, but for those that are named', async () => {
  expect(await tablesWithoutRuleOn(8)).toEqual(REMOVABLE);
});

it('a table whose rows stay is not emptied', async () => {
  expect(await tablesWithoutRuleOn(32)).toEqual(REMOVABLE);
  await expect(database.handle.sql`TRUNCATE expiry_runs CASCADE`).rejects.toThrow('append-only');
});

it('the rows of a table are told apart, as a publication of all tables needs to replicate a change', async () => {
  const unidentified = await database.handle.sql<{ name: string }[]>`
    SELECT c.oid::regclass::text AS name FROM pg_class c
    WHERE relkind IN ('r', 'p') AND relnamespace::regnamespace::text IN ('public', 'embedded_network', 'drizzle')
      AND NOT CASE relreplident WHEN 'f' THEN true WHEN 'i' THEN EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisreplident)
        WHEN 'd' THEN EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary) ELSE false END
    ORDER BY 1`;
  expect(unidentified.map(({ name }) => name)).toEqual([]);
});

it('tables that are queues, and keep all rows, are vacuumed as often however long they are', async () => {
  const queues = await database.handle.sql<{ name: string; options: string[] }[]>`
    SELECT relname AS name, array_to_json(reloptions) AS options FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relname IN ('submissions', 'off_ramp_sessions') ORDER BY 1`;
  const options = ['autovacuum_vacuum_scale_factor=0', 'autovacuum_vacuum_threshold=10000'];
  expect(queues.map(({ name, options: set }) => [name, set?.toSorted()])).toEqual([
    ['off_ramp_sessions', options],
    ['submissions', options],
  ]);
});

it('a function looks at the tables of its own schema, whatever temporary ones hide them', async () => {
  // A body that is not text was bound to its tables at creation.
  const forgotten = await database.handle.sql<{ name: string }[]>`
    SELECT p.oid::regprocedure::text AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
    WHERE nspname IN ('public', 'embedded_network') AND prosqlbody IS NULL
      AND (format('search_path=%s, pg_temp', nspname) = ANY (proconfig)) IS NOT TRUE ORDER BY 1`;
  expect(forgotten.map(({ name }) => name)).toEqual([]);
});
