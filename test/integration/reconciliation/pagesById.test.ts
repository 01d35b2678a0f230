/**
 * A reconciliation reads each row of a table longer than a page, and each changed row.
 */
import { randomUUID } from 'node:crypto';
import { sql, type SQL } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projects } from '../../../src/db/tables/index.ts';
import { PAGE_SIZE, pagesById } from '../../../src/reconciliation/pagesById.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';

let database: TestDatabase;
/** In the order of the ids, which is not that of the rows. */
let ids: string[];

beforeAll(async () => {
  database = await createTestDatabase();
  const { db } = database.handle;
  await insertProject(db, { quantityTonnes: 100n });
  await db.execute(sql`
    INSERT INTO projects SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'asset_id', n,
      'asset_key', n, 'token_address', n))).* FROM projects p, generate_series(2, ${2 * PAGE_SIZE}::int) n`);
  ids = (await db.select({ id: projects.id }).from(projects)).map(({ id }) => id).sort();
});
afterAll(() => database.drop());

async function read(changed?: readonly string[]): Promise<string[][]> {
  const pages: string[][] = [];
  const rows = (where: SQL | undefined) =>
    database.handle.db.select({ id: projects.id }).from(projects).where(where);
  for await (const page of pagesById(projects.id, changed, rows)) pages.push(page.map(({ id }) => id));
  return pages;
}

it('in pages, in the order of their ids', async () => {
  expect(await read()).toEqual([ids.slice(0, PAGE_SIZE), ids.slice(PAGE_SIZE)]);
});

it('where they have changed, behind a page of ids that have no row', async () => {
  const strangers = Array.from({ length: PAGE_SIZE }, () => randomUUID());
  const [first = '', second = ''] = ids;
  expect(await read([...strangers, second, first])).toEqual([[], [first, second]]);
  expect(await read([])).toEqual([]);
});
