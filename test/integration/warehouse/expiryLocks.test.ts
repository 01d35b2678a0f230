/**
 * A settlement of expiries and a sweep of due receipts lock receipts in the same order, so PostgreSQL never
 * ends one for a deadlock. The run, which both belong to, makes neither wait for the other.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Tx } from '../../../src/db/connection.ts';
import { expiryEffects, finishIfComplete } from '../../../src/jobs/expiryEffects.ts';
import { lockActive, sweep } from '../../../src/jobs/expireReceipts.ts';
import { requestRun } from '../../../src/jobs/expiryRuns.ts';
import type { LandedIntent } from '../../../src/ledger/submission/effects.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { addRun } from '../../support/database/expiryRun.ts';
import { countLockWaits } from '../../support/database/lockWaits.ts';
import { startPlatform, type StartedPlatform } from '../../support/platform.ts';
import { activeReceipt } from '../../support/warehouse.ts';

let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];
beforeAll(async () => {
  ({ database, platform, end } = await startPlatform());
});
afterAll(() => end());

class RolledBack extends Error {}

/** Runs the work in a transaction that is rolled back. */
const tried = (work: (tx: Tx) => Promise<unknown>) =>
  database.handle.db
    .transaction(async (tx) => {
      await work(tx);
      throw new RolledBack();
    })
    .catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error;
    });

const lock = (tx: Tx, ids: readonly string[]) => lockActive(tx, { ids: JSON.stringify(ids) });

it('a settlement waits for a sweep of the same receipts, or the sweep for it', async () => {
  const made = await Promise.all([activeReceipt(platform), activeReceipt(platform)]);
  const [first = '', last = ''] = made.map(({ id }) => id).toSorted();
  const landed = [last, first].map((targetId) => ({
    intent: { targetId },
    landed: { txHash: '0x01', at: new Date() },
  })) as unknown as LandedIntent[];
  const effects = expiryEffects(platform.dependencies);
  const { succeeded } = (await effects.landedTogether?.(landed)) ?? {};
  const concurrent: Promise<unknown>[] = [];
  await tried(async (tx) => {
    await lock(tx, [last]);
    concurrent.push(tried(async (settling) => succeeded?.(settling, landed)));
    await expect.poll(() => countLockWaits(database.handle)).toBe(1);
    concurrent.push(tried((sweeping) => lock(sweeping, [first, last])));
    await expect.poll(() => countLockWaits(database.handle)).toBe(2);
  });
  expect(await Promise.allSettled(concurrent)).toMatchObject([
    { status: 'fulfilled' },
    { status: 'fulfilled' },
  ]);
});

it('a sweep locks receipts by their ids, wherever they are stored', async () => {
  const { db } = database.handle;
  const made = await Promise.all([activeReceipt(platform), activeReceipt(platform)]);
  const [first = '', last = ''] = made.map(({ id }) => id).toSorted();
  // The newer version of the row is behind the other receipt's row, and so small a table is read from its start.
  await db.execute(sql`UPDATE receipts SET state = state WHERE id = ${first}`);
  await db.execute(sql`ANALYZE receipts`);
  const id = await addRun(db, '5 minutes');
  const { network } = platform.dependencies;
  const later = { ...(await network.status()), closedAt: 2n ** 40n };
  let sweeping: Promise<unknown> = Promise.resolve();
  await tried(async (tx) => {
    await lock(tx, [first]);
    sweeping = sweep(
      { ...platform.dependencies, network: { ...network, status: async () => later } },
      { id },
    );
    await expect.poll(() => countLockWaits(database.handle)).toBe(1);
    const free = await db.execute(sql`SELECT id FROM receipts WHERE id = ${last} FOR UPDATE SKIP LOCKED`);
    expect(free).toHaveLength(1);
  });
  await sweeping;
});

it('a settlement ends while a sweep adds items to the same run', async () => {
  const { id: receiptId } = await activeReceipt(platform);
  const run = await requestRun(platform.dependencies, {
    trigger: 'MANUAL',
    night: null,
    requestedBy: 'test',
  });
  await tried(async (sweeping) => {
    await sweeping.execute(sql`INSERT INTO expiry_items (run_id, receipt_id, state, decided_at)
      VALUES (${run?.id}, ${receiptId}, 'NOT_DUE', now())`);
    const ended = tried(async (settling) => {
      await settling.execute(sql`SET LOCAL lock_timeout = '1s'`);
      await finishIfComplete(settling, run?.id ?? '', new Date());
    });
    await expect(ended).resolves.toBeUndefined();
  });
});
