/**
 * What is appended once when two instances write the same records at once, and with whose transaction.
 */
import { eq, inArray, isNotNull } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Tx } from '../../../src/db/connection.ts';
import { retirementRecords, retirements } from '../../../src/db/tables/index.ts';
import { appendRecords } from '../../../src/feed/appendRecords.ts';
import { completeHashes } from '../../../src/feed/recordTransactions.ts';
import type { RetirementRecord } from '../../../src/ledger/network/port.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { openProject } from '../../../devnet/platform.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { holding, retirement } from '../../support/holding.ts';
import { startPlatform, type StartedPlatform } from '../../support/platform.ts';

let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];
beforeAll(async () => {
  ({ database, platform, end } = await startPlatform());
});
afterAll(() => end());

const record = (index: number): RetirementRecord => ({
  index,
  retiredBy: 'custody',
  amount: 1n,
  timestamp: 1_700_000_000n,
  beneficiary: 'Acme Ltd',
  note: `burn ${index}`,
});

it('appends each record once', async () => {
  const { db } = database.handle;
  const { id: projectId, tokenAddress } = await openProject(platform, 10n);
  const append = (tx: Tx, records: readonly RetirementRecord[]) =>
    appendRecords(tx, [{ token: { projectId, tokenAddress }, records, verified: new Map() }], new Date());
  let second: ReturnType<typeof append> | undefined;
  await db.transaction(async (tx) => {
    await append(tx, [record(0), record(1)]);
    second = db.transaction((other) => append(other, [record(0), record(1), record(2)]));
    // Shorter than the time after which PostgreSQL ends the lock holder's transaction.
    await expect.poll(() => hasLockWait(database.handle), { timeout: 5_000 }).toBe(true);
  });
  expect(await second).toMatchObject({ appended: 1, before: new Map([[tokenAddress, 2]]) });
});

it('completes a record that is being appended, no other one, and leaves a known hash as it is', async () => {
  const { db } = database.handle;
  const { id: projectId, tokenAddress } = await openProject(platform, 10n);
  const complete = (txHash: string) => completeHashes(db, [{ tokenAddress, recordIndex: 0, txHash }]);
  let completed: Promise<void> | undefined;
  await db.transaction(async (tx) => {
    const token = { projectId, tokenAddress };
    await appendRecords(tx, [{ token, records: [record(0), record(1)], verified: new Map() }], new Date());
    completed = complete('first');
    await expect.poll(() => hasLockWait(database.handle), { timeout: 5_000 }).toBe(true);
  });
  await completed;
  await complete('second');
  expect(await db.select().from(retirementRecords).where(isNotNull(retirementRecords.txHash))).toMatchObject([
    { tokenAddress, index: 0, txHash: 'first' },
  ]);
});

it('gives a record the transaction of the retirement that claims it, and none of another token', async () => {
  const { db } = database.handle;
  const own = await holding(platform, 10n);
  await retire(platform.dependencies, 'acme', retirement(own, 4n));
  const { id: projectId, tokenAddress } = await openProject(platform, 10n);
  const verified = new Map([[1, 'of a hint']]);
  const fresh = { token: { projectId, tokenAddress }, records: [record(0), record(1)], verified };
  await db.transaction((tx) => appendRecords(tx, [fresh], new Date()));
  const rows = await db
    .select()
    .from(retirementRecords)
    .where(inArray(retirementRecords.tokenAddress, [own, tokenAddress]))
    .orderBy(retirementRecords.position);
  const [retired] = await db.select().from(retirements);
  expect(rows).toMatchObject([
    { tokenAddress: own, index: 0, txHash: retired?.txHash ?? 'known', isClaimed: true },
    { tokenAddress, index: 0, txHash: null, isClaimed: false },
    { tokenAddress, index: 1, txHash: 'of a hint', isClaimed: false },
  ]);
});

it('leaves no gap: neither before the first record nor behind the last one', async () => {
  const { db } = database.handle;
  const { id: projectId, tokenAddress } = await openProject(platform, 10n);
  const append = (...records: RetirementRecord[]) =>
    db.transaction((tx) =>
      appendRecords(tx, [{ token: { projectId, tokenAddress }, records, verified: new Map() }], new Date()),
    );
  const stored = async () => db.$count(retirementRecords, eq(retirementRecords.tokenAddress, tokenAddress));
  expect(await append(record(1))).toMatchObject({ appended: 0, stored: new Map([[tokenAddress, 0]]) });
  expect(await append(record(0))).toMatchObject({ appended: 1 });
  expect(await append(record(0), record(2))).toMatchObject({
    appended: 0,
    stored: new Map([[tokenAddress, 1]]),
  });
  expect(await stored()).toBe(1);
});
