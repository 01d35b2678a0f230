/**
 * The feed of a database that can't be read at first, and of one that lost records in a failover or a
 * restore: the feed ends before shown records, or the lost records were read again in another order.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openChangeSignal, type ChangeSignal } from '../../../src/db/changeSignal.ts';
import { readPrimary } from '../../../src/db/publicReads.ts';
import { createTail } from '../../../src/feed/feedTail.ts';
import { feedCursor } from '../../../src/feed/feedCursor.ts';
import { createFeedFollower } from '../../../src/feed/followFeed.ts';
import { readAfter } from '../../../src/feed/readFeed.ts';
import { followRetirements } from '../../../src/resolvers/carbon/followRetirements.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { silentLog } from '../../../devnet/platform.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { seedRecords } from '../../support/database/records.ts';

const [END, LOST_FROM] = [20, 15] as const;

let database: TestDatabase;
let signal: ChangeSignal;

beforeAll(async () => {
  database = await createTestDatabase();
  await seedRecords(database.handle, {
    projects: [{ countryCode: 'KE', vintageYear: 2024 }],
    records: Array.from({ length: END }, () => ({
      project: 0,
      timestamp: 1_700_000_000,
      tonnes: 1,
      beneficiary: 'Acme',
    })),
  });
  signal = await openChangeSignal(database.handle, 'feed', { senderId: 'one', onError: () => {} });
});
afterAll(async () => {
  await signal.close();
  await database.drop();
});

async function endAt(position: number): Promise<void> {
  await changePastRules(
    database,
    sql`UPDATE retirement_records SET position = -position WHERE (position > ${position}) OR (position < 0 AND -position <= ${position})`,
  );
  await changePastRules(database, sql`UPDATE feed_head SET position = ${position}`);
}

const tailOf = (db: { current: TestDatabase['handle']['db'] }, maxAgeMs = 0) =>
  createTail({
    get db() {
      return db.current;
    },
    publicReads: { ...readPrimary(database.handle.db), maxAgeMs },
    log: silentLog,
  });

/** Appends the lost records again behind a new record. The record at LOST_FROM + 2 keeps its position. */
async function readAgain(): Promise<void> {
  const [fresh, same, other] = [LOST_FROM + 1, LOST_FROM + 2, LOST_FROM + 3];
  await changePastRules(
    database,
    sql`UPDATE retirement_records SET appended_at = now(),
      position = CASE -position WHEN ${same} THEN ${same} WHEN ${fresh} THEN ${other} ELSE 1 - position END
      WHERE position < 0`,
  );
  await changePastRules(
    database,
    sql`INSERT INTO retirement_records SELECT (jsonb_populate_record(r, jsonb_build_object(
      'position', ${fresh}::int, 'index', ${END}::int, 'note', 'new'))).* FROM retirement_records r WHERE position = ${same}`,
  );
  await changePastRules(database, sql`UPDATE feed_head SET position = ${END + 1}`);
}

it('is not read again and again by who follows from its end, and goes on from there', async () => {
  const { db } = database.handle;
  let reads = 0;
  const primary = readPrimary(db);
  const follower = createFeedFollower({
    db,
    publicReads: {
      ...primary,
      run: (work) => {
        reads += 1;
        return primary.run(work);
      },
    },
    feedSignal: signal,
    log: silentLog,
  });
  await follower.start();
  await endAt(LOST_FROM);
  const records = follower.follow({ filter: {}, after: null });
  const next = records.next();
  await delay(300);
  expect(reads).toBeLessThan(3);
  await endAt(LOST_FROM + 1);
  // The stream ends, so that the follower's cursor is checked again.
  expect(await next).toEqual({ done: true, value: undefined });
  const resumed = follower.follow({ filter: {}, after: BigInt(LOST_FROM) });
  expect((await resumed.next()).value?.position).toBe(BigInt(LOST_FROM + 1));
  await resumed.return();
  follower.close();
  await endAt(END);
});

it('leaves out no event behind a gap, which only a damaged database has', async () => {
  const tail = tailOf({ current: database.handle.db });
  await endAt(LOST_FROM);
  await tail.refresh();
  await endAt(END);
  const turnOver = sql`UPDATE retirement_records SET position = -position WHERE abs(position) IN (17, 18, 19)`;
  await changePastRules(database, turnOver);
  await tail.refresh();
  await changePastRules(database, turnOver);
  const after = (cursor: number) =>
    tail.pageOfTail(BigInt(cursor), {})?.records.map(({ position }) => Number(position));
  expect(after(LOST_FROM)).toEqual([16, END]);
  for (const cursor of [16, 17, 18, 19]) expect(after(cursor)).toEqual([END]);
  expect(after(END)).toEqual([]);
});

it('wakes who waits when the first read succeeds that was not the first', async () => {
  const { db } = database.handle;
  const away = { select: () => expect.fail('away') } as unknown as typeof db;
  const used = { current: away };
  const tail = tailOf(used);
  await tail.refresh();
  let woken = 0;
  tail.onceGrown({ place: -1, wake: () => (woken += 1) });
  used.current = db;
  await tail.refresh();
  expect([tail.tailEnd(), woken]).toEqual([BigInt(END), 1]);
});

it('gives lists no end that was lost', async () => {
  const tail = tailOf({ current: database.handle.db }, 50);
  await tail.refresh();
  expect(await tail.endBefore()).toMatchObject({ position: BigInt(END) });
  await endAt(LOST_FROM);
  await tail.refresh();
  expect(await tail.endBefore()).toMatchObject({ position: BigInt(LOST_FROM) });
  await endAt(END);
});

it('ends who follows, and refuses the cursors of what was lost, when it was read again in another order', async () => {
  const { db } = database.handle;
  const publicReads = readPrimary(db);
  const follower = createFeedFollower({ db, publicReads, feedSignal: signal, log: silentLog });
  await follower.start();
  const cursors = (await readAfter(db, 0n, undefined, END)).map(feedCursor);
  const live = follower.follow({ filter: {}, after: BigInt(END) });
  const next = live.next();
  await endAt(LOST_FROM);
  await readAgain();
  signal.notify('feed');
  expect(await next).toEqual({ done: true, value: undefined });

  const deps = { db, follower, network: {} as LedgerNetwork };
  for (const after of cursors.slice(LOST_FROM)) {
    const following = followRetirements(deps, { filter: {}, after });
    await expect(following, after).rejects.toMatchObject({
      code: 'BAD_USER_INPUT',
      details: { field: 'after' },
    });
  }
  const resumed = await followRetirements(deps, { filter: {}, after: cursors[LOST_FROM - 1] ?? '' });
  expect((await resumed.next()).value?.note).toBe('new');
  await resumed.return();
  follower.close();
});
