/**
 * The verdicts that a run keeps beside those of other runs, and which instance runs.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openProject } from '../../../devnet/platform.ts';
import { readDatabaseTime } from '../../../src/db/databaseTime.ts';
import { createReconciliationJob } from '../../../src/jobs/reconciliationJob.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { readLastVerdicts, reconcileAndKeep } from '../../../src/reconciliation/lastReconciliation.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';
import { makeRestorable, type Restorable } from '../../support/restorable.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let restorable: Restorable;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform(() => null));
  const { tokenAddress } = await openProject(platform, 100n);
  const input = { buyerId: 'acme', tokenAddress, amountCO2e: 10n, idempotencyKey: randomUUID() };
  await purchase(platform.dependencies, 'acme', input);
  // The logs' job would write while rows are restored.
  await logAll(platform.dependencies.logs);
  restorable = await makeRestorable(database);
});
afterAll(async () => {
  await restorable.close();
  await platform.stop();
  await database.drop();
});

const own = (from: string, to: string) => `UPDATE accounts SET owner_id = '${to}' WHERE owner_id = '${from}'`;

const keptOf = async (invariant: string) =>
  ((await readLastVerdicts(database.handle.db)).get(invariant)?.findings ?? []).map(({ message }) => message);

async function run(isFull: boolean, meanwhile: () => Promise<unknown> = async () => {}): Promise<string[]> {
  const status = async () => {
    await meanwhile();
    return network.status();
  };
  const dependencies = { ...platform.dependencies, network: { ...network, status } };
  await reconcileAndKeep(dependencies, { isFull });
  return keptOf('I11');
}

describe('a full run beside an incremental one', () => {
  it('drops what it no longer finds, and keeps what the other one has found since', async () => {
    await run(true);
    await restorable.corrupt(own('acme', 'mallory'));
    expect(await run(true)).toContainEqual(expect.stringContaining('mallory'));
    await restorable.corrupt(own('mallory', 'acme'));
    const found = await run(true, async () => {
      await restorable.corrupt(own('acme', 'trudy'));
      expect(await run(false)).toContainEqual(expect.stringContaining('mallory'));
      await restorable.corrupt(own('trudy', 'acme'));
    });
    expect(found).not.toEqual([]);
    expect(found.filter((message) => !message.includes('trudy'))).toEqual([]);
    expect(await run(true)).toEqual([]);
  });
});

it('a run is dated by the clock that its age is measured with, not by that of an instance which is days ahead', async () => {
  const clock = { now: () => new Date(Date.now() + 2 * 86_400_000) };
  const ahead = { ...platform.dependencies, clock };
  await reconcileAndKeep(ahead, { isFull: true });
  const { db } = database.handle;
  for (const { comparedAt } of (await readLastVerdicts(db)).values()) {
    expect(comparedAt.getTime()).toBeLessThanOrEqual((await readDatabaseTime(db)).getTime());
  }
});

it('a finding about the network stays when the network gives a full run no answer', async () => {
  const withNetwork = (over: Partial<LedgerNetwork>) =>
    reconcileAndKeep({ ...platform.dependencies, network: { ...network, ...over } }, { isFull: true });
  const agreedAt = async () => (await readLastVerdicts(database.handle.db)).get('I2')?.agreedAt;
  await withNetwork({});
  const agreed = await agreedAt();
  await withNetwork({ balanceOf: async () => 0n });
  expect(await agreedAt()).toEqual(agreed);
  const found = await keptOf('I2');
  expect(found).toEqual([expect.stringContaining('custody holds 0 base units')]);
  await withNetwork({
    balanceOf: async () => {
      throw new NetworkUnavailable('refused \ud800\u0000');
    },
  });
  expect((await readLastVerdicts(database.handle.db)).get('I2')?.notProved).toContainEqual({
    invariant: 'I2',
    obstacle: 'NO_ANSWER',
    message: expect.stringContaining('refused \ufffd\ufffd') as unknown,
  });
  expect(await keptOf('I2')).toEqual(found);
  await withNetwork({});
  expect(await keptOf('I2')).toEqual([]);
});

it('an invariant keeps where the network last answered about it', async () => {
  const { dependencies } = platform;
  const lastOf = async (invariant: string) => {
    const last = (await readLastVerdicts(database.handle.db)).get(invariant);
    return { agreedAt: last?.agreedAt?.getTime() ?? NaN, transaction: last?.transaction };
  };
  await reconcileAndKeep(dependencies, { isFull: true });
  const before = await lastOf('I2');
  const carbonTotals = () => Promise.reject(new NetworkUnavailable('refused'));
  await reconcileAndKeep({ ...dependencies, network: { ...network, carbonTotals } }, { isFull: true });
  expect((await lastOf('I1')).agreedAt).toBeGreaterThan(before.agreedAt);
  expect(await lastOf('I2')).toEqual(before);
});

it('everything is compared where two invariants last agreed in different databases', async () => {
  const { db } = database.handle;
  const since = async () => (await reconcileAndKeep(platform.dependencies, { isFull: false })).since;
  await run(true);
  expect(await since()).not.toBeNull();
  // A later transaction than that of the others, as a database has from which a copy was made.
  await db.execute(sql`UPDATE reconciled_invariants SET database = 'another', transaction = transaction::numeric + 1000000
    WHERE invariant = 'I9'`);
  expect(await since()).toBeNull();
  expect(await since()).not.toBeNull();
});

it('the next run starts at the earliest transaction, whatever its number of digits', async () => {
  const { db } = database.handle;
  await run(true);
  await db.execute(
    sql`UPDATE reconciled_invariants SET transaction = '9', agreed_at = '2026-01-01' WHERE invariant = 'I9'`,
  );
  const { since, hadStart } = await reconcileAndKeep(platform.dependencies, { isFull: false });
  expect([since, hadStart]).toEqual([new Date('2026-01-01'), true]);
});

it('a full run stays with its instance however long it lasts, and is due again soon after its death', async () => {
  const { db } = database.handle;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let runs = 0;
    const status = async () => {
      runs += 1;
      await held;
      return network.status();
    };
    const dependencies = { ...platform.dependencies, network: { ...network, status } };
    const [job, other] = [1, 2].map(() => createReconciliationJob(dependencies, { timeZone: 'UTC' }));
    const makeDue = () =>
      db.execute(
        sql`UPDATE reconciliation_schedule SET full_due_at = now() - interval '1 s', due_at = 'infinity'`,
      );
    const dueIn = async () => {
      const [row] = await db.execute<{ seconds: number }>(
        sql`SELECT extract(epoch FROM full_due_at - now())::float8 AS seconds FROM reconciliation_schedule`,
      );
      return row?.seconds ?? NaN;
    };
    await makeDue();
    const running = job?.poll();
    await expect.poll(() => runs).toBe(1);
    expect(await dueIn()).toBeLessThan(1_000);
    await makeDue();
    vi.advanceTimersByTime(60_000);
    await expect.poll(dueIn).toBeGreaterThan(800);
    await other?.poll();
    expect(runs).toBe(1);
    release();
    await running;
    expect(await dueIn()).toBeLessThan(24 * 3_600);
    await makeDue();
    vi.advanceTimersByTime(600_000);
    await other?.poll();
    expect(runs).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});

it('what changed is compared while a full run lasts, by the same instance', async () => {
  const { db } = database.handle;
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  let runs = 0;
  const status = async () => {
    runs += 1;
    if (runs === 1) await held;
    return network.status();
  };
  const dependencies = { ...platform.dependencies, network: { ...network, status } };
  const job = createReconciliationJob(dependencies, { timeZone: 'UTC' });
  const makeDue = (column: string, other: string) =>
    db.execute(sql`UPDATE reconciliation_schedule SET ${sql.identifier(column)} = now() - interval '1 s',
      ${sql.identifier(other)} = 'infinity'`);
  await makeDue('full_due_at', 'due_at');
  const full = job.poll();
  await expect.poll(() => runs).toBe(1);
  await makeDue('due_at', 'full_due_at');
  void job.poll();
  await expect.poll(() => runs).toBe(2);
  release();
  await full;
  await job.stop();
  expect(runs).toBe(2);
  const [row] = await db.execute<{ full: boolean; changes: boolean }>(sql`
    SELECT full_due_at < 'infinity' AS full, due_at > now() AS changes FROM reconciliation_schedule`);
  expect(row).toEqual({ full: true, changes: true });
});

it.each([
  ['within an hour after a full run without all answers', new NetworkUnavailable('connection refused')],
  ['the next night after a full run with all answers', null],
])('everything is compared again %s', async (_what, error) => {
  const { db } = database.handle;
  const carbonTotals: LedgerNetwork['carbonTotals'] = async (token) => {
    if (error !== null) throw error;
    return network.carbonTotals(token);
  };
  const dependencies = { ...platform.dependencies, network: { ...network, carbonTotals } };
  await db.execute(sql`UPDATE reconciliation_schedule SET full_due_at = now() - interval '1 s'`);
  // In this time zone, three o'clock is hours away.
  const timeZone = `Etc/GMT${(await readDatabaseTime(db)).getUTCHours() < 12 ? '-9' : '+9'}`;
  await createReconciliationJob(dependencies, { timeZone }).poll();
  const [row] = await db.execute(
    sql`SELECT full_due_at BETWEEN now() AND now() + interval '1 hour' AS soon FROM reconciliation_schedule`,
  );
  expect(row).toEqual({ soon: error !== null });
});
