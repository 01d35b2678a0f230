/**
 * The newest records that an instance keeps for all its subscribers: read to the end, bounded, and kept while
 * the database is away.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readPrimary } from '../../../src/db/publicReads.ts';
import { createTail } from '../../../src/feed/feedTail.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { seedRecords } from '../../support/database/records.ts';
import { collectGarbage } from '../../support/heap.ts';

const [START, END, KEPT] = [5, 2_500, 1_000] as const;

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  const record = { project: 0, timestamp: 1_700_000_000, tonnes: 1, beneficiary: 'Acme' };
  await seedRecords(database.handle, {
    projects: [{ countryCode: 'KE', vintageYear: 2024 }],
    records: Array.from({ length: END }, () => record),
  });
});
afterAll(() => database.drop());

const turnOver = () =>
  changePastRules(
    database,
    sql`UPDATE retirement_records SET position = -position WHERE abs(position) > ${START}`,
  );

function tailOn(used: { db: TestDatabase['handle']['db'] }) {
  const warnings: string[] = [];
  const tail = createTail({
    get db() {
      return used.db;
    },
    publicReads: readPrimary(database.handle.db),
    log: { warn: (_fields: unknown, text: string) => void warnings.push(text) } as never,
  });
  return { tail, warnings };
}

it('reads a burst to its end, and keeps the newest thousand alone', async () => {
  const { tail } = tailOn(database.handle);
  await turnOver();
  await tail.refresh();
  const firstAfter = (cursor: number) => tail.pageOfTail(BigInt(cursor), {})?.records[0];
  const old = new WeakRef(firstAfter(START - 1) ?? expect.fail('not read'));
  await turnOver();
  await tail.refresh();
  expect(tail.tailEnd()).toBe(BigInt(END));
  expect(firstAfter(END - KEPT)?.position).toBe(BigInt(END - KEPT + 1));
  expect(firstAfter(END - KEPT - 1)).toBeUndefined();
  collectGarbage();
  expect(old.deref()).toBeUndefined();
});

it('is kept, and a poll does not fail, while the database is away', async () => {
  const { db } = database.handle;
  const used = { db };
  const { tail, warnings } = tailOn(used);
  await tail.poll();
  used.db = { select: () => expect.fail('away') } as unknown as typeof db;
  await tail.poll();
  expect(warnings).toEqual(['feed tail not read', 'feed not looked at']);
  expect(tail.pageOfTail(BigInt(END - 1), {})?.records).toHaveLength(1);
});
