/**
 * The highest final block that several instances keep: only an instance that has compared another's stored
 * block with the chain replaces it.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { finalLedger } from '../../../src/db/tables/index.ts';
import { openSeenLedgers } from '../../../src/ledger/network/seenLedgers.ts';
import { silentLog } from '../../../devnet/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const block = (ledger: bigint) => ({ ledger, hash: `of ${ledger}` });

it('is compared by a reading that began after it was met', async () => {
  const { db } = database.handle;
  const stored = async () => (await db.select().from(finalLedger))[0]?.ledger;
  const [one, other] = [
    await openSeenLedgers({ db, log: silentLog }),
    await openSeenLedgers({ db, log: silentLog }),
  ];
  one.note(block(8n));
  await expect.poll(stored).toBe(8n);

  // This reading of the chain begins before the other block is met, and ends after that.
  const unverified = other.unverified();
  other.note(block(9n));
  await expect.poll(() => other.unverified()).toMatchObject(block(8n));
  other.note(block(10n), unverified);
  expect(other.unverified()).toMatchObject(block(8n));

  other.note(block(11n), other.unverified());
  expect(other.unverified()).toBeNull();
  await expect.poll(stored).toBe(11n);
});
