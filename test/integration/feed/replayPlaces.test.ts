/**
 * Replays of the feed share the database: a filter without matches reads a long history to its end, and one
 * address may have thousands of such subscriptions.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openChangeSignal, type ChangeSignal } from '../../../src/db/changeSignal.ts';
import { readPrimary } from '../../../src/db/publicReads.ts';
import { createFeedFollower, type FeedFollower } from '../../../src/feed/followFeed.ts';
import { silentLog } from '../../../devnet/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { seedRecords } from '../../support/database/records.ts';

const RECORDS = 30;

let database: TestDatabase;
let signal: ChangeSignal;
let follower: FeedFollower;
/** The number of pages being read, and its maximum. */
let reading = 0;
let most = 0;
/** Callbacks that let the waiting reads go on. */
let waiting: (() => void)[] = [];
let isHeld = false;

beforeAll(async () => {
  database = await createTestDatabase();
  await seedRecords(database.handle, {
    projects: [{ countryCode: 'KE', vintageYear: 2024 }],
    records: Array.from({ length: RECORDS }, () => ({
      project: 0,
      timestamp: 1_700_000_000,
      tonnes: 1,
      beneficiary: 'Acme',
    })),
  });
  signal = await openChangeSignal(database.handle, 'feed', { senderId: 'one', onError: () => {} });
  const primary = readPrimary(database.handle.db);
  follower = createFeedFollower({
    db: database.handle.db,
    publicReads: {
      ...primary,
      async run(work) {
        reading += 1;
        most = Math.max(most, reading);
        if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
        return primary.run(work).finally(() => (reading -= 1));
      },
    },
    feedSignal: signal,
    log: silentLog,
  });
  await follower.start();
});
afterAll(async () => {
  follower.close();
  await signal.close();
  await database.drop();
});

const replay = (reader: string) => follower.follow({ filter: {}, after: 0n, reader });

/** Lets the present and the following reads go on. */
function goOn(): void {
  isHeld = false;
  for (const resolve of waiting.splice(0)) resolve();
}

it('are read a few at a time for one address, and hold up no other', async () => {
  isHeld = true;
  const ofOne = Array.from({ length: 50 }, () => replay('one'));
  const first = ofOne.map((stream) => stream.next());
  await expect.poll(() => reading).toBe(4);
  const other = replay('other').next();
  await expect.poll(() => reading).toBe(5);
  // A subscriber that leaves while it waits takes no place.
  await Promise.all(ofOne.slice(40).map((stream) => stream.return()));
  goOn();
  expect((await other).value?.position).toBe(1n);
  const found = await Promise.all(first);
  expect(found.slice(0, 40).map(({ value }) => value?.position)).toEqual(Array(40).fill(1n));
  expect(found.slice(40).every(({ done }) => done === true)).toBe(true);
  expect(most).toBe(5);
});

it('are read a few more at a time for all', async () => {
  isHeld = true;
  most = 0;
  const streams = Array.from({ length: 20 }, (_, i) => replay(`address ${i}`).next());
  await expect.poll(() => reading).toBe(8);
  goOn();
  await Promise.all(streams);
  expect(most).toBe(8);
});
