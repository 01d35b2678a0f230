/**
 * Payout accounts of ended cash-outs can be erased, and no others: by the command, and by the rules.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { erasePayoutAccounts } from '../../../src/resolvers/warehouse/offRamp/erasePayoutAccounts.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { custodySecretKey } from '../../../devnet/platform.ts';
import { insertSessionAlone } from '../../support/offRampSessionRow.ts';
import { pathOf } from '../../support/run/programs.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const insertSession = (state: 'OPENING' | 'CLOSED', endedDaysAgo = 0): Promise<string> =>
  insertSessionAlone(database.handle.db, {
    state,
    stateReason: 'refused',
    endedAt: state === 'CLOSED' ? new Date(Date.now() - endedDaysAgo * 86_400_000) : null,
  });

const accountOf = async (id: string) => {
  const [row] = await database.handle.sql<
    { sealed: string | null; masked: string | null; isErased: boolean }[]
  >`
    SELECT sealed_payout_account AS sealed, masked_account_number AS masked, payout_account_erased_at <= now() AS "isErased"
    FROM off_ramp_sessions WHERE id = ${id}`;
  return row;
};
const KEPT = { sealed: 'sealed', masked: '…456', isErased: null };
const ERASED = { sealed: null, masked: null, isErased: true };

const ERASE = 'sealed_payout_account = NULL, masked_account_number = NULL, payout_account_erased_at = now()';
const change = (id: string, set: string) =>
  database.handle.sql.unsafe(`UPDATE off_ramp_sessions SET ${set} WHERE id = '${id}'`);

describe('the rules of the database', () => {
  it('let an account be erased when its session has ended, and not filled again', async () => {
    const id = await insertSession('CLOSED');
    await change(id, ERASE);
    expect(await accountOf(id)).toEqual(ERASED);
    for (const later of [
      "sealed_payout_account = 'v2.0123456789ab.x'",
      "sealed_payout_account = 'x', masked_account_number = 'x', payout_account_erased_at = NULL",
      'payout_account_erased_at = NULL',
      "payout_account_erased_at = now() - interval '1 day'",
    ]) {
      await expect(change(id, later), later).rejects.toMatchObject({ code: expect.stringMatching(/^23/) });
    }
  });

  it('refuse it of an open session', async () => {
    const id = await insertSession('OPENING');
    await expect(change(id, ERASE)).rejects.toThrow('erased once its session has ended');
    expect(await accountOf(id)).toEqual(KEPT);
  });

  it.each([
    ['half of it', 'sealed_payout_account = NULL, payout_account_erased_at = now()'],
    ['without its time', 'sealed_payout_account = NULL, masked_account_number = NULL'],
    ['with something else', `${ERASE}, state_reason = 'another'`],
    ['the shown part alone', 'masked_account_number = NULL'],
    ['for another one', "masked_account_number = '…999'"],
  ])('refuse it %s', async (_what, set) => {
    const id = await insertSession('CLOSED');
    await expect(change(id, set)).rejects.toMatchObject({ code: '23000' });
    expect(await accountOf(id)).toEqual(KEPT);
  });
});

describe('npm run payout-accounts:erase', () => {
  const run = async (...options: string[]) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'erase-'));
    const env = {
      ...process.env,
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      LEDGER_SECRET_KEY: custodySecretKey,
      APP_SECRET: Buffer.alloc(32, 1).toString('base64'),
    };
    try {
      const program = pathOf('src/cli/erasePayoutAccounts.ts');
      return (await promisify(execFile)(process.execPath, [program, ...options], { env })).stdout;
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  };

  it('erases what ended longer ago than that, and nothing else', { timeout: 60_000 }, async () => {
    const old = await Promise.all([31, 40, 50].map((daysAgo) => insertSession('CLOSED', daysAgo)));
    const kept = [await insertSession('CLOSED', 29), await insertSession('OPENING')];
    expect(await run('--older-than-days', '30')).toContain('3 payout accounts were erased');
    for (const id of old) expect(await accountOf(id)).toEqual(ERASED);
    for (const id of kept) expect(await accountOf(id)).toEqual(KEPT);
    await expect(run('--older-than-days', '0')).rejects.toThrow('Use a whole number from 1 to 36500');
  });

  it('goes on page by page, and finds nothing the second time', async () => {
    for (let i = 0; i < 5; i++) await insertSession('CLOSED', 31);
    const erase = () => erasePayoutAccounts(database.handle.db, { olderThanDays: 30, rowsPerPage: 2 });
    expect([await erase(), await erase()]).toEqual([5, 0]);
  });
});
