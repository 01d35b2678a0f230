/**
 * Leases on due rows: a holder keeps its lease, loses it when it stops renewing, and a renewal does not touch
 * rows decided meanwhile.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { eq, isNull, sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDatabase } from '../../../src/db/connection.ts';
import { createLeases, LEASE_MS, reschedule } from '../../../src/db/leases.ts';
import { expiryRuns } from '../../../src/db/tables/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { addRun } from '../../support/database/expiryRun.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

const isOpen = isNull(expiryRuns.sweptAt);
const errors: unknown[] = [];
const isMisdated = sql`${expiryRuns.dueAt} > now() + interval '1 hour'`;
const leases = (db = database.handle.db) =>
  createLeases(db, expiryRuns, {
    isOpen,
    isMisdated,
    onError: (error) => errors.push(error),
  });

const addDue = () => addRun(database.handle.db);

async function dueInMs(id: string): Promise<number> {
  const [row] = await database.handle.db
    .select({ ms: sql<number>`extract(epoch FROM ${expiryRuns.dueAt} - now())::float8 * 1000` })
    .from(expiryRuns)
    .where(eq(expiryRuns.id, id));
  return row ? row.ms : Number.NaN;
}

it('is kept as long as it is held, and ends soon after', async () => {
  const [mine, others] = [leases(), leases()];
  const id = await addDue();
  expect((await mine.claim(5)).map((row) => row.id)).toEqual([id]);
  for (let waitedMs = 0; waitedMs < 2 * LEASE_MS; waitedMs += 250) {
    expect(mine.isHeld(id)).toBe(true);
    expect(await others.claim(5)).toEqual([]);
    await delay(250);
  }
  await mine.release(id);
  expect(mine.isHeld(id)).toBe(false);
  await delay(LEASE_MS + 100);
  expect((await others.claim(5)).map((row) => row.id)).toEqual([id]);
  await others.release(id);
  expect(errors).toEqual([]);
});

it('is not renewed over what was decided meanwhile', async () => {
  const mine = leases();
  const [later, now, done] = [await addDue(), await addDue(), await addDue()];
  expect(await mine.claim(5)).toHaveLength(3);
  const { db } = database.handle;
  await reschedule(db, expiryRuns, { id: later, isOpen }, { delayMs: 60_000, values: { problem: 'later' } });
  await reschedule(db, expiryRuns, { id: now }, { delayMs: 0 });
  await db.update(expiryRuns).set({ sweptAt: new Date(), dueAt: null }).where(eq(expiryRuns.id, done));
  await delay(1_500);
  expect(await dueInMs(later)).toBeGreaterThan(50_000);
  expect(await dueInMs(now)).toBeLessThan(0);
  expect(await dueInMs(done)).toBeNull();
  for (const id of [later, now, done]) await mine.release(id);
});

it('is claimed by one of several, and not twice by its holder', async () => {
  const ids = [await addDue(), await addDue(), await addDue(), await addDue()];
  const several = [leases(), leases(), leases()];
  const claims = await Promise.all(several.map((each) => each.claim(2)));
  const claimed = claims.flat().map((row) => row.id);
  expect(new Set(claimed).size).toBe(claimed.length);

  const mine = leases();
  const id = await addDue();
  expect(await mine.claim(1)).toMatchObject([{ id }]);
  // Simulates a pause of this process longer than the lease.
  await database.handle.db
    .update(expiryRuns)
    .set({ dueAt: sql`now()` })
    .where(eq(expiryRuns.id, id));
  const again = await mine.claim(10);
  expect(again.map((row) => row.id)).not.toContain(id);
  expect(await dueInMs(id)).toBeGreaterThan(0);
  for (const each of [...several, mine]) for (const one of [...ids, id]) await each.release(one);
});

it('is due at its release when it became due while it was held', async () => {
  const mine = leases();
  const [hinted, rescheduled] = [await addDue(), await addDue()];
  expect(await mine.claim(5)).toHaveLength(2);
  const { db } = database.handle;
  for (const id of [hinted, rescheduled]) await reschedule(db, expiryRuns, { id }, { delayMs: 0 });
  expect(await mine.claim(5)).toEqual([]);
  await reschedule(db, expiryRuns, { id: rescheduled }, { delayMs: 60_000 });
  for (const id of [hinted, rescheduled]) await mine.release(id);
  expect(await dueInMs(rescheduled)).toBeGreaterThan(50_000);
  expect(await mine.claim(5)).toMatchObject([{ id: hinted }]);
  await mine.release(hinted);
  expect(errors).toEqual([]);
});

it('is so when it is released during its renewal', async () => {
  // On one connection, the release follows the renewal, as when the renewal took effect and was not answered.
  const handle = openDatabase({ url: database.url, poolSize: 1, applicationName: 'renews' });
  const mine = leases(handle.db);
  const id = await addDue();
  expect(await mine.claim(1)).toHaveLength(1);
  await reschedule(database.handle.db, expiryRuns, { id }, { delayMs: 0 });
  expect(await mine.claim(1)).toEqual([]);
  let released = Promise.resolve();
  await database.handle.db.transaction(async (tx) => {
    await tx.execute(sql`LOCK TABLE expiry_runs IN SHARE MODE`);
    const waiting = sql`SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE NOT granted AND relation = 'expiry_runs'::regclass AND datname = current_database()`;
    await expect.poll(() => tx.execute(waiting)).toHaveLength(1);
    released = mine.release(id);
  });
  await released;
  expect(await dueInMs(id)).toBeLessThanOrEqual(0);
  expect(errors).toEqual([]);
  await handle.close();
});

it('wakes an idle worker when the next row is due', async () => {
  const [mine, others] = [leases(), leases()];
  expect(await mine.firstDueInMs()).toBeNull();
  const [id, later] = [await addDue(), await addDue()];
  expect(await mine.firstDueInMs()).toBeLessThanOrEqual(0);
  await reschedule(database.handle.db, expiryRuns, { id: later }, { delayMs: 60_000 });
  await mine.claim(5);
  // If the holder dies now, the others look when its lease ends.
  expect(await others.firstDueInMs()).toBeLessThanOrEqual(LEASE_MS);
  await mine.release(id);
  await reschedule(database.handle.db, expiryRuns, { id }, { delayMs: 120_000 });
  const firstMs = await others.firstDueInMs();
  expect(firstMs).toBeGreaterThan(LEASE_MS);
  expect(firstMs).toBeLessThanOrEqual(60_000);
});

it('is claimed again soon after the clock of the database was set back', async () => {
  const mine = leases();
  const [leased, rescheduled] = [await addDue(), await addDue()];
  await database.handle.sql`UPDATE expiry_runs SET due_at = now() + interval '6 hours' WHERE id = ${leased}`;
  await database.handle
    .sql`UPDATE expiry_runs SET due_at = now() + interval '5 minutes' WHERE id = ${rescheduled}`;
  expect(await mine.firstDueInMs()).toBeLessThanOrEqual(0);
  expect((await mine.claim(5)).map((row) => row.id)).toEqual([leased]);
  await mine.release(leased);
});
