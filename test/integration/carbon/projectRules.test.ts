/**
 * The database enforces a project's form and the moves of its state: writes past the program are refused too.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DatabaseHandle } from '../../../src/db/connection.ts';
import { projectState } from '../../../src/db/tables/index.ts';
import { createTestDatabase, openAsApplication, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';

type ProjectState = (typeof projectState.enumValues)[number];

const MOVES: Record<ProjectState, readonly ProjectState[]> = {
  DEPLOYING: ['MINTING', 'REFUSED', 'NEEDS_REVIEW'],
  MINTING: ['OPEN', 'NEEDS_REVIEW'],
  OPEN: [],
  REFUSED: [],
  NEEDS_REVIEW: ['DEPLOYING', 'MINTING', 'OPEN', 'REFUSED'],
};

let database: TestDatabase;
let application: DatabaseHandle;
let id: string;

beforeAll(async () => {
  database = await createTestDatabase();
  application = openAsApplication(database, 2);
  id = await insertProject(database.handle.db, { quantityTonnes: 100n });
});
afterAll(async () => {
  await application.close();
  await database.drop();
});

describe('a project', () => {
  it.each([
    'id = gen_random_uuid()',
    `asset_id = 'another'`,
    `asset_key = 'another'`,
    `credit_type = 'another'`,
    `verification_body_ref = 'another'`,
    'vintage_year = 2020',
    'quantity_tonnes = quantity_tonnes + 1',
    `project_location = 'another'`,
    `project_type = 'another'`,
    `country_code = 'TZ'`,
    `token_name = 'another'`,
    `token_symbol = 'OTHER'`,
    `deploy_salt = 'another'`,
    `developer_id = 'another'`,
    'created_at = now()',
  ])('stays as it was created: %s', async (change) => {
    const changed = application.sql.unsafe(`UPDATE projects SET ${change} WHERE id = '${id}'`);
    await expect(changed).rejects.toThrow('is fixed once written');
  });

  it.each(['token_address', 'opened_at'])('gets its %s once', async (column) => {
    const facts = { quantityTonnes: 1n, state: 'DEPLOYING', tokenAddress: null } as const;
    const another = await insertProject(database.handle.db, facts);
    const set = (value: string) =>
      application.sql.unsafe(`UPDATE projects SET ${column} = ${value} WHERE id = '${another}'`);
    const value = column === 'opened_at' ? 'now()' : `'C-${another}'`;
    await set(value);
    for (const later of [column === 'opened_at' ? 'created_at' : `'C-another'`, 'NULL']) {
      await expect(set(later)).rejects.toThrow('is set once');
    }
  });

  it.each(projectState.enumValues)('moves from %s along the arrows alone', async (from) => {
    for (const to of projectState.enumValues) {
      const hasToken = ['MINTING', 'OPEN'].includes(from) || ![from, to].includes('REFUSED');
      const facts = { quantityTonnes: 1n, state: from, ...(hasToken ? {} : { tokenAddress: null }) };
      const project = await insertProject(database.handle.db, facts);
      const values = `state = '${to}'${to === 'OPEN' && from !== to ? ', opened_at = now()' : ''}`;
      const move = application.sql.unsafe(`UPDATE projects SET ${values} WHERE id = '${project}'`);
      if (to === from || MOVES[from].includes(to)) await move;
      else await expect(move, to).rejects.toThrow("can't go");
    }
  });

  it('is not refused once it has a token: its asset id stays taken', async () => {
    const project = await insertProject(database.handle.db, { quantityTonnes: 1n, state: 'NEEDS_REVIEW' });
    const refuse = application.sql.unsafe(`UPDATE projects SET state = 'REFUSED' WHERE id = '${project}'`);
    await expect(refuse).rejects.toThrow('projects_refused_has_no_token');
  });

  it('is never deleted', async () => {
    const { sql } = database.handle;
    await expect(sql.unsafe(`DELETE FROM projects WHERE id = '${id}'`)).rejects.toThrow('append-only');
  });
});
