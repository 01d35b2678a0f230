/**
 * The feed of a database that can't be read at first, and of one that has lost records in a failover: its end lies before what the
 * instance has shown.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openChangeSignal, type ChangeSignal } from '../../../src/db/changeSignal.ts';
import { readPrimary } from '../../../src/db/publicReads.ts';
import { createTail } from '../../../src/feed/feedTail.ts';
import { createFeedFollower } from '../../../src/feed/followFeed.ts';
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

const tailOf = (db: { current: TestDatabase['handle']['db'] }) =>
  createTail({
    get db() {
      return db.current;
    },
    publicReads: readPrimary(database.handle.db),
    log: silentLog,
  });

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
  expect((await next).value?.position).toBe(BigInt(LOST_FROM + 1));
  await records.return();
  follower.close();
  await endAt(END);
});

it('wakes who waits when the first read succeeds that was not the first', async () => {
  const { db } = database.handle;
  const away = { select: () => expect.fail('away') } as unknown as typeof db;
  const used = { current: away };
  const tail = tailOf(used);
  await tail.refresh();
  let woken = 0;
  tail.onceGrown(() => (woken += 1));
  used.current = db;
  await tail.refresh();
  expect([tail.end(), woken]).toEqual([BigInt(END), 1]);
});
