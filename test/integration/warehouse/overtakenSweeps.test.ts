/**
 * Two sweeps of one run, after an instance was paused for longer than its lease: once either has ended the
 * sweep, the run gets no further items, so an ended run has none pending and keeps its counts.
 */
import { and, eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '../../../src/db/connection.ts';
import { submissions } from '../../../src/db/tables/index.ts';
import { sweep, type SweepNeeds } from '../../../src/jobs/expireReceipts.ts';
import { finishIfComplete } from '../../../src/jobs/expiryEffects.ts';
import { countRun, findRun, requestRun } from '../../../src/jobs/expiryRuns.ts';
import { STORAGE_SECONDS } from '../../../src/resolvers/warehouse/createDeposit.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { addRun } from '../../support/database/expiryRun.ts';
import { countLockWaits } from '../../support/database/lockWaits.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { startPlatform, type StartedPlatform } from '../../support/platform.ts';
import { activeReceipt } from '../../support/warehouse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let end: StartedPlatform['end'];

beforeAll(async () => {
  ({ database, network, platform, end } = await startPlatform());
});
afterAll(() => end());

async function dueReceipt(): Promise<string> {
  const { id } = await activeReceipt(platform);
  await network.advanceClock(Number(STORAGE_SECONDS) + 1);
  return id;
}

/** A run that the test itself sweeps: the workers don't take it before its due time. */
const runOfTest = () => addRun(database.handle.db, '5 minutes');

const sweepOn = (changes: Partial<EmbeddedNetwork>, id: string, more: Partial<SweepNeeds> = {}) =>
  sweep({ ...platform.dependencies, network: { ...network, ...changes }, ...more }, { id });

/** The sweep of an instance whose node is behind, and shows no receipt as due yet. */
const sweepEarlier = async (id: string) => {
  const status = { ...(await network.status()), closedAt: 0n };
  await sweepOn({ status: async () => status }, id);
};

const isOver = async (id: string) => (await findRun(platform.dependencies, id))?.endedAt != null;

const marksOf = (receiptId: string) =>
  database.handle.db.$count(
    submissions,
    and(eq(submissions.targetId, receiptId), eq(submissions.kind, 'markExpired')),
  );

it.each(['is to be marked', 'is not due', 'is expired already', 'can not be written'])(
  'a sweep leaves a receipt that %s to the next run, when another sweep has ended its run meanwhile',
  async (answered) => {
    const receiptId = await dueReceipt();
    const id = await runOfTest();
    const expiryOf: EmbeddedNetwork['expiryOf'] = async (tokens) => {
      await sweepEarlier(id);
      return tokens.map((tokenAddress) => ({
        tokenAddress,
        isExpired: answered !== 'is not due',
        status: answered === 'is expired already' ? 'EXPIRED' : 'ACTIVE',
      }));
    };
    const refused = () => {
      throw new Error('refused by the test');
    };
    const more = answered === 'can not be written' ? { ids: { next: refused } } : {};
    await sweepOn({ expiryOf }, id, more);
    expect(await isOver(id)).toBe(true);
    expect(await countRun(platform.dependencies, id)).toMatchObject({ examined: 0 });
    expect(await marksOf(receiptId)).toBe(0);

    const request = { trigger: 'MANUAL', night: null, requestedBy: 'a test' } as const;
    const next = await requestRun(platform.dependencies, request);
    await expect.poll(() => isOver(next?.id ?? '')).toBe(true);
    expect(await countRun(platform.dependencies, next?.id ?? '')).toMatchObject({ expired: 1 });
  },
);

it('the end of a sweep waits for the receipts that another sweep is deciding, and the run for their marking', async () => {
  const receiptId = await dueReceipt();
  const id = await runOfTest();
  // The platform's connections are taken.
  const own = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' });
  const sweeps: Promise<void>[] = [];
  let hasEnded = false;
  await database.handle.db.transaction(async (tx) => {
    await tx.execute(sql`SELECT id FROM receipts WHERE id = ${receiptId} FOR UPDATE`);
    sweeps.push(sweepOn({}, id));
    await expect.poll(() => countLockWaits(database.handle)).toBe(1);
    sweeps.push(sweepEarlier(id).then(() => void (hasEnded = true)));
    await expect.poll(async () => hasEnded || (await countLockWaits(database.handle)) === 2).toBe(true);
    expect(hasEnded).toBe(false);
    // A settlement, for whose receipts the other sweep may wait, waits for neither.
    await own.db.transaction(async (settling) => {
      await settling.execute(sql`SET LOCAL lock_timeout = '1s'`);
      await finishIfComplete(settling, id, new Date());
    });
  });
  await own.close();
  await Promise.all(sweeps);
  await expect.poll(() => isOver(id)).toBe(true);
  expect(await countRun(platform.dependencies, id)).toMatchObject({ examined: 1, expired: 1 });
});
