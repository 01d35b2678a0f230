/**
 * Codes, hashes, kinds and related columns have the form that the program writes: the database refuses any
 * other form, whichever program writes it. Once tables are long, adding such a rule needs a scan of all rows.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { isEnumType } from 'graphql';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Tx } from '../../../src/db/connection.ts';
import { schema } from '../../../src/schema/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';
import { insertDueReceipts } from '../../support/database/receipts.ts';
import { insertSessionAlone } from '../../support/offRampSessionRow.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  const { db } = database.handle;
  await insertProject(db, { quantityTonnes: 1n });
  await insertDueReceipts(db, 1);
  const sessionId = await insertSessionAlone(db, {});
  await withoutTriggers(async (tx) => {
    await tx.execute(sql`INSERT INTO submissions (id, kind, target_type, target_id, call, state, due_at, created_at)
      VALUES (${randomUUID()}, 'retire', 'RETIREMENT', ${randomUUID()}, '{}', 'PENDING', now(), now())`);
    await tx.execute(sql`INSERT INTO off_ramp_reviews (id, off_ramp_session_id, flagged_because, state_before, opened_at, closed_at,
      statuses_seen) VALUES (${randomUUID()}, ${sessionId}, 'tested', 'OPENING', now(), now(), 0)`);
  });
});
afterAll(() => database.drop());

/** Without triggers the rule alone decides about a row, and rows that it refers to may be missing. */
const withoutTriggers = <Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  database.handle.db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    return work(tx);
  });

/** Updates the table's one row. */
const update = (table: string, change: string) =>
  withoutTriggers(async (tx) => (await tx.execute(sql.raw(`UPDATE ${table} SET ${change}`))).count);

const HASH = `0x${'0a'.repeat(32)}`;

it.each([
  ['projects', `country_code = 'ke'`, 'projects_country_code'],
  ['projects', `country_code = 'KEN'`, 'projects_country_code'],
  ['receipts', `country_code = ''`, 'receipts_country_code'],
  ['receipts', `valuation_usd = 0`, 'receipts_valuation_positive'],
  ['receipts', `inspection_report_hash = ''`, 'receipts_inspection_report_hash'],
  ['receipts', `inspection_report_hash = '${HASH.toUpperCase()}'`, 'receipts_inspection_report_hash'],
  ['receipts', `inspection_report_hash = '${HASH}0'`, 'receipts_inspection_report_hash'],
  ['off_ramp_sessions', `country_code = 'K'`, 'off_ramp_country_code'],
  ['off_ramp_sessions', `fiat_currency = 'kes'`, 'off_ramp_fiat'],
  ['off_ramp_sessions', `fiat_currency = 'KESH'`, 'off_ramp_fiat'],
  ['submissions', `kind = 'burn'`, 'submissions_kind'],
  ['off_ramp_reviews', `decision = 'ACCEPT', decided_by = 'operator'`, 'off_ramp_reviews_decided_by'],
  ['off_ramp_reviews', `reason = 'paid'`, 'off_ramp_reviews_decided_by'],
  ['off_ramp_reviews', `deposit_seen = 'NONE'`, 'off_ramp_reviews_deposit_seen'],
  [
    'off_ramp_reviews',
    `decision = 'ACCEPT', decided_by = 'operator', reason = 'paid'`,
    'off_ramp_reviews_deposit_seen',
  ],
])('%s: %s is refused', async (table, change, rule) => {
  await expect(update(table, change)).rejects.toMatchObject({ cause: { constraint_name: rule } });
});

it.each([
  ['projects', `country_code = 'UG'`],
  ['receipts', `country_code = 'UG', valuation_usd = 1, inspection_report_hash = '${HASH}'`],
  ['off_ramp_sessions', `country_code = 'UG', fiat_currency = 'UGX'`],
  [
    'off_ramp_reviews',
    `decision = 'ACCEPT', decided_by = 'operator', reason = 'paid', deposit_seen = 'NONE'`,
  ],
])('%s: %s is taken', async (table, change) => {
  expect(await update(table, change)).toBe(1);
});

it('submissions: each kind of call is taken that the contract has', async () => {
  const type = schema.getType('NetworkCallKind');
  const kinds = isEnumType(type) ? type.getValues().map(({ value }) => String(value)) : [];
  expect(kinds.length).toBeGreaterThan(5);
  for (const kind of kinds) expect(await update('submissions', `kind = '${kind}'`)).toBe(1);
});
