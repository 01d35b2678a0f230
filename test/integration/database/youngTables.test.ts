/**
 * A lookup by ids reads no whole table, however young: a plan made then is kept until it is analysed.
 */
import { sql, type SQL } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { givenRows, isGiven } from '../../../src/db/manyRows.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { rowsReadBy } from '../../support/database/rowsRead.ts';

const ENTRIES = 2_000;
/** Index rows that the lookup of one entry meets: the entry and its previous version. */
const FEW = 4;

let database: TestDatabase;
let last: string;

beforeAll(async () => {
  database = await createTestDatabase();
  // The table is not analysed: the tests' server analyses on its own no earlier than a new installation does
  // in its first minute.
  await database.handle.db.execute(sql`
    SELECT insert_audit_entries(gen_random_uuid(), 'test', (SELECT json_agg(json_build_object('id', gen_random_uuid(), 'kind', 'MUTATION',
      'started_at', now(), 'request_id', n, 'caller_roles', ARRAY[]::text[], 'remote_address', '127.0.0.1', 'field', 'purchase',
      'target_ids', ARRAY[]::text[])) FROM generate_series(1, ${ENTRIES}::int) AS n))`);
  const rows = await database.handle.sql<
    { id: string }[]
  >`SELECT id FROM audit_entries ORDER BY id DESC LIMIT 1`;
  last = rows[0]?.id ?? '';
});
afterAll(() => database.drop());

/** Counts the rows read from the audit log. */
const readBy = (statement: SQL) =>
  rowsReadBy(database.handle, ['audit_entries'], (tx) => tx.execute(statement));

it('adds an outcome to an entry without reading the others', async () => {
  const ended = JSON.stringify([{ id: last, outcome: 'OK', ended_at: new Date(), target_ids: [] }]);
  expect(await readBy(sql`SELECT end_audit_entries(${ended}::text::json)`)).toBeLessThanOrEqual(FEW);
});

it('updates given rows without reading the others', async () => {
  const ended = [{ id: last, target: 'x' }];
  const byId = (condition: SQL) => sql`${givenRows(ended, 'id uuid, target text')}
    SELECT e.id, v.target FROM audit_entries e, v WHERE ${condition}`;
  expect(await readBy(byId(isGiven('e.id')))).toBeLessThanOrEqual(FEW);
  expect(await readBy(byId(sql`e.id = v.id`))).toBeGreaterThanOrEqual(ENTRIES);
});
