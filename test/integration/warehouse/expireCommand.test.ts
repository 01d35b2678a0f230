/**
 * `npm run expire` on a database at which no server works.
 */
import { eq, isNull, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { custodySecretKey } from '../../../devnet/platform.ts';
import { expiryRuns, receipts } from '../../../src/db/tables/index.ts';
import { STORAGE_SECONDS } from '../../../src/resolvers/warehouse/createDeposit.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { runAsCommand } from '../../support/run/runAsCommand.ts';
import { activeReceipt } from '../../support/warehouse.ts';

let database: TestDatabase;
let receiptId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const network = await embeddedNetworkOn(database.handle);
  const platform = await platformOn(database.handle, network);
  await platform.start();
  ({ id: receiptId } = await activeReceipt(platform, { quantityKg: 10n }));
  await platform.stop();
  await network.advanceClock(Number(STORAGE_SECONDS) + 1);
});
afterAll(() => database.drop());

const expire = (options: readonly string[] = []) =>
  runAsCommand(
    'src/cli/expire.ts',
    { DATABASE_URL: database.url, LEDGER_SECRET_KEY: custodySecretKey },
    options,
  );

async function stateOfReceipt() {
  const { db } = database.handle;
  const [found] = await db.select().from(receipts).where(eq(receipts.id, receiptId));
  return found?.state;
}

it('lists what is due, and changes nothing', async () => {
  const { code, out } = await expire(['--dry-run']);
  expect({ code, out }).toEqual({
    code: 0,
    out: expect.stringContaining('1 receipts have passed their date'),
  });
  expect(await stateOfReceipt()).toBe('ACTIVE');
});

it('says why a sweep failed, and leaves the run to servers', async () => {
  const { sql: raw } = database.handle;
  await raw.unsafe(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'a test says so' USING ERRCODE = 'deadlock_detected'; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION fail()`);
  expect(await expire()).toEqual({
    code: 3,
    out: expect.stringMatching(/has to go on: .*a test says so\.?\n/),
  });
  await raw.unsafe('DROP TRIGGER fail ON submissions; DROP FUNCTION fail');
  expect(await stateOfReceipt()).toBe('ACTIVE');
  const left = await database.handle.db
    .update(expiryRuns)
    .set({ sweptAt: sql`now()`, dueAt: null })
    .where(isNull(expiryRuns.sweptAt))
    .returning();
  expect(left).toMatchObject([{ trigger: 'MANUAL' }]);
});

it('marks what is due', async () => {
  const { code, out } = await expire();
  expect({ code, out }).toEqual({
    code: 0,
    out: expect.stringContaining('1 receipts examined: 1 expired, 0 failed'),
  });
  expect(await stateOfReceipt()).toBe('EXPIRED');
  // Further runs find nothing.
  expect(await expire()).toMatchObject({ code: 0, out: expect.stringContaining('0 receipts examined') });
});
