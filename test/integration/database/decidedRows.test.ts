/**
 * A decided row says when it was decided, and an open row does not: the database refuses a state without its
 * time, whichever program writes it.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.drop();
});

const TABLES = {
  submissions: `INSERT INTO submissions (id, kind, target_type, target_id, call, due_at, tx_hash, created_at, state, settled_at)
    VALUES (gen_random_uuid(), 'retire', 'RETIREMENT', gen_random_uuid(), '{}', now(), 'hash', now(), `,
  attempts: `INSERT INTO attempts (hash, submission_id, number, source, signed_bytes, prepared_at_ledger, created_at,
      state, decided_at, evidence, ledger)
    VALUES ('${randomUUID()}', gen_random_uuid(), 1, 'custody', '\\x00', 1, now(), `,
  retirements: `INSERT INTO retirements (id, project_id, buyer_id, beneficiary, note, amount_tonnes, created_at,
      state, settled_at, record_index)
    VALUES (gen_random_uuid(), gen_random_uuid(), 'acme', 'Acme', '', 1, now(), `,
  projects: `INSERT INTO projects (id, asset_id, asset_key, credit_type, verification_body_ref, vintage_year, quantity_tonnes,
      project_location, project_type, country_code, token_name, token_symbol, deploy_salt, token_address, developer_id,
      created_at, state, opened_at)
    VALUES (gen_random_uuid(), 'a', 'a', 'VCU', 'a', 2024, 1, 'here', 'forest', 'KE', 'a', 'A', 'salt', 'token', 'dev', now(), `,
};

/** Inserts the row without the rows that it refers to, in a transaction that is undone. */
const insert = async (table: keyof typeof TABLES, values: string) => {
  const undo = new Error('undone');
  await database.handle.db
    .transaction(async (tx) => {
      await tx.execute(sql`SET LOCAL session_replication_role = replica`);
      await tx.execute(sql.raw(`${TABLES[table]}${values})`));
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
};

describe('a row', () => {
  it.each([
    ['submissions', `'SUCCEEDED', NULL`, 'submissions_settled_at'],
    ['submissions', `'REFUSED', NULL`, 'submissions_settled_at'],
    ['submissions', `'PENDING', now()`, 'submissions_settled_at'],
    ['attempts', `'OPEN', now(), NULL, NULL`, 'attempts_decided_at'],
    ['attempts', `'OPEN', NULL, 'why', NULL`, 'attempts_decided_at'],
    ['attempts', `'DEAD', NULL, 'why', NULL`, 'attempts_decided_at'],
    ['attempts', `'DEAD', now(), NULL, NULL`, 'attempts_decided_at'],
    ['attempts', `'LANDED', now(), 'why', NULL`, 'attempts_landed_in_ledger'],
    ['retirements', `'RETIRED', NULL, 1`, 'retirements_settled_at'],
    ['retirements', `'REFUSED', NULL, NULL`, 'retirements_settled_at'],
    ['retirements', `'NEEDS_REVIEW', now(), NULL`, 'retirements_settled_at'],
    ['projects', `'OPEN', NULL`, 'projects_opened_at'],
  ] as const)('of %s is not written as %s', async (table, values, rule) => {
    await expect(insert(table, values)).rejects.toMatchObject({ cause: { constraint_name: rule } });
  });

  it.each([
    ['submissions', `'SUCCEEDED', now()`],
    ['submissions', `'PENDING', NULL`],
    ['attempts', `'OPEN', NULL, NULL, NULL`],
    ['attempts', `'LANDED', now(), 'why', 7`],
    ['attempts', `'REFUSED', now(), 'why', NULL`],
    ['retirements', `'RETIRED', now(), 1`],
    ['retirements', `'NEEDS_REVIEW', NULL, NULL`],
    ['projects', `'OPEN', now()`],
    ['projects', `'MINTING', NULL`],
  ] as const)('of %s is written as %s', async (table, values) => {
    await expect(insert(table, values)).resolves.toBeUndefined();
  });
});
