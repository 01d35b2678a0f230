/**
 * The feed, replayed from a replica behind the primary, and from one that shows records unconfirmed by the
 * primary: no subscriber misses a record, gets one twice, or gets one that may be lost.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openChangeSignal, type ChangeSignal } from '../../../src/db/changeSignal.ts';
import { readPrimary, type PublicReads } from '../../../src/db/publicReads.ts';
import type { FeedFilter } from '../../../src/feed/feedFilter.ts';
import { createFeedFollower, type FeedFollower } from '../../../src/feed/followFeed.ts';
import { silentLog } from '../../../devnet/platform.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { seedRecords } from '../../support/database/records.ts';

const [BEHIND, CONFIRMED, AHEAD] = [90, 240, 300] as const;
const MAX_AGE_MS = 500;
const RARE = [5, 100, 239];

const databases: TestDatabase[] = [];
const followers: FeedFollower[] = [];
let signal: ChangeSignal;
let behind: TestDatabase;
let primary: TestDatabase;
let ahead: TestDatabase;

beforeAll(async () => {
  ahead = await createTestDatabase();
  databases.push(ahead);
  await seedRecords(ahead.handle, {
    projects: [{ countryCode: 'KE', vintageYear: 2024 }],
    records: Array.from({ length: AHEAD }, (_, i) => ({
      project: 0,
      timestamp: 1_700_000_000 + i,
      tonnes: 1,
      beneficiary: RARE.includes(i + 1) ? 'Rare' : 'Acme',
    })),
  });
  await ahead.handle.close();
  [primary, behind] = [await copyUntil(CONFIRMED), await copyUntil(BEHIND)];
  signal = await openChangeSignal(primary.handle, 'feed', { senderId: 'primary', onError: () => {} });
  // The copying closed its pool, so it is copied again.
  ahead = await copyUntil(AHEAD);
});
afterAll(async () => {
  for (const follower of followers) follower.close();
  await signal.close();
  for (const database of databases.toReversed()) await database.drop();
});

async function copyUntil(position: number): Promise<TestDatabase> {
  const [original] = databases;
  if (!original) throw new Error('nothing to copy');
  const copy = await createTestDatabase({ copyOf: original });
  databases.push(copy);
  await changePastRules(copy, sql`DELETE FROM retirement_records WHERE position > ${position}`);
  await changePastRules(copy, sql`UPDATE feed_head SET position = ${position}`);
  return copy;
}

/** A follower that always reads from this replica. */
async function followerOn(replica: TestDatabase, maxAgeMs = 0) {
  const served = { replica: 0 };
  const publicReads: PublicReads = {
    ...readPrimary(primary.handle.db),
    maxAgeMs,
    run(work) {
      served.replica += 1;
      return work(replica.handle.db, true);
    },
  };
  const follower = createFeedFollower({
    db: primary.handle.db,
    publicReads,
    feedSignal: signal,
    log: silentLog,
  });
  followers.push(follower);
  await follower.start();
  return { follower, served };
}

async function take(follower: FeedFollower, filter: FeedFilter, count: number) {
  const records = follower.follow({ filter, after: 0n });
  const positions: number[] = [];
  while (positions.length < count) {
    const { value } = await records.next();
    if (value) positions.push(Number(value.position));
  }
  // By the end of this query a further record would be there.
  const further = records.next();
  await primary.handle.sql`SELECT 1`;
  await records.return();
  return { positions, further: await further };
}

const all = Array.from({ length: CONFIRMED }, (_, i) => i + 1);

it.each([
  ['behind', () => behind],
  ['ahead of what is confirmed', () => ahead],
])('is whole and in order on a replica that is %s', async (_name, replica) => {
  const { follower, served } = await followerOn(replica());
  expect(await take(follower, {}, CONFIRMED)).toEqual({ positions: all, further: { done: true } });
  expect(served.replica).toBeGreaterThan(0);
  const rare = await take(follower, { beneficiaries: ['Rare'] }, RARE.length);
  expect(rare).toEqual({ positions: RARE, further: { done: true } });
});

it('gives no cursor that a list on a replica may not have reached', async () => {
  const place = (from: number, to: number) =>
    changePastRules(primary, sql`UPDATE retirement_records SET position = ${to} WHERE position = ${from}`);
  const end = (position: number) =>
    changePastRules(primary, sql`UPDATE feed_head SET position = ${position}`);
  await place(CONFIRMED, -1);
  await end(CONFIRMED - 1);
  const { follower } = await followerOn(behind, MAX_AGE_MS);
  const endForLists = async () => (await follower.endForLists())?.position;
  await expect.poll(endForLists).toBe(BigInt(CONFIRMED - 1));
  const committingMs = performance.now();
  await place(-1, CONFIRMED);
  await end(CONFIRMED);
  signal.notify('feed');
  await take(follower, {}, CONFIRMED);
  const told = await endForLists();
  expect(told === BigInt(CONFIRMED) && performance.now() - committingMs < MAX_AGE_MS).toBe(false);
  await expect.poll(endForLists).toBe(BigInt(CONFIRMED));
});
