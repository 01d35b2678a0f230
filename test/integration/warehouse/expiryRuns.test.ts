/**
 * The worker of expiry runs: when it sweeps a run again, and what a run shows of its failures.
 */
import { and, eq, isNull, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expiryRuns } from '../../../src/db/tables/index.ts';
import { previewExpiry } from '../../../src/jobs/dueReceipts.ts';
import { countItems, createExpiryWorker, findRun } from '../../../src/jobs/expiryRuns.ts';
import { NetworkUnavailable, type ExpiryAnswer } from '../../../src/ledger/network/port.ts';
import { createIdSource, systemClock } from '../../../src/lib/clock.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { addRun } from '../../support/database/expiryRun.ts';
import { insertDueReceipts } from '../../support/database/receipts.ts';
import { listFailures } from '../../support/histories.ts';

/** More than two pages. */
const DUE = 450;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await insertDueReceipts(database.handle.db, DUE);
});
afterAll(() => database.drop());

const notDue = async (addresses: readonly string[]): Promise<ExpiryAnswer[]> =>
  addresses.map((tokenAddress) => ({ tokenAddress, isExpired: false, status: 'ACTIVE' }));

function workerOn(expiryOf: typeof notDue, logError: (facts: object) => void = () => {}) {
  return createExpiryWorker({
    db: database.handle.db,
    network: { status: async () => ({ closedAt: 2n }), expiryOf },
    clock: systemClock,
    ids: createIdSource(systemClock),
    stateSignal: { notify: () => {} },
    submission: { random: () => 0 },
    log: { info: () => {}, warn: () => {}, error: logError },
  } as unknown as Parameters<typeof createExpiryWorker>[0]);
}

const makeDue = (id: string) =>
  database.handle.db
    .update(expiryRuns)
    .set({ dueAt: sql`now()` })
    .where(and(eq(expiryRuns.id, id), isNull(expiryRuns.sweptAt)));

const runOf = (id: string) => findRun(database.handle, id);

it('a run is swept at once that was due long after any delay, as the database’s clock was set back', async () => {
  const id = await addRun(database.handle.db, '11 minutes');
  await workerOn(notDue).drain();
  expect(await runOf(id)).toMatchObject({ endedAt: expect.any(Date) });
});

it('each sweep without an answer counts, until the run ends without one', async () => {
  const id = await addRun(database.handle.db);
  const down = new NetworkUnavailable('down');
  let asked = 0;
  const worker = workerOn(async (addresses) => {
    asked += addresses.length;
    return addresses.map((tokenAddress) => ({ tokenAddress, error: down }));
  });
  for (let i = 0; i <= 12; i++) {
    await worker.drain();
    await makeDue(id);
  }
  expect(await runOf(id)).toMatchObject({ endedAt: expect.any(Date), problem: null, fruitlessSteps: 12 });
  expect(asked).toBe(13 * DUE);
  const other = await addRun(database.handle.db, '1 minute');
  const counts = await countItems(database.handle, [other, id]);
  expect(counts.get(id)).toMatchObject({ examined: DUE, failed: DUE });
  expect(counts.get(other)).toMatchObject({ examined: 0, failed: 0 });
});

it('a run shows what the network’s adapter says of a failure, and not its cause', async () => {
  const id = await addRun(database.handle.db);
  const down = new NetworkUnavailable('down', { cause: new Error('with the address of a node') });
  await workerOn(() => Promise.reject(down)).drain();
  expect(await runOf(id)).toMatchObject({ problem: 'down' });
  await makeDue(id);
  await workerOn(notDue).drain();
});

it('a sweep that fails after another one has ended it changes the run no more', async () => {
  const id = await addRun(database.handle.db);
  const errors: object[] = [];
  const endedBefore = async () => {
    await database.handle.db
      .update(expiryRuns)
      .set({ sweptAt: sql`now()`, dueAt: null })
      .where(eq(expiryRuns.id, id));
    throw new NetworkUnavailable('down');
  };
  await workerOn(endedBefore, (facts) => errors.push(facts)).drain();
  expect(errors).toEqual([]);
  expect(await runOf(id)).toMatchObject({ dueAt: null, problem: null, fruitlessSteps: 0 });
});

it('a run shows its hundred latest failures, the latest first', async () => {
  const id = await addRun(database.handle.db, '1 minute');
  await database.handle.sql`INSERT INTO expiry_items (run_id, receipt_id, state, message, decided_at)
    SELECT ${id}, id, 'FAILED', asset_millis, now() + make_interval(secs => (asset_millis * 7 % ${DUE})::int) FROM receipts`;
  const shown = await listFailures(database.handle, id);
  const places = shown.map(({ message }) => (Number(message) * 7) % DUE);
  expect(places).toEqual(Array.from({ length: 100 }, (_, i) => DUE - 1 - i));
});

it('due receipts are all read in order, whatever order the table has', async () => {
  await database.handle.db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL enable_indexscan = off`);
    await tx.execute(sql`SET LOCAL enable_bitmapscan = off`);
    const network = { status: async () => ({ closedAt: 2n }), expiryOf: notDue };
    const deps = { db: tx, network } as unknown as Parameters<typeof previewExpiry>[0];
    const shown: string[] = [];
    for await (const { receipt } of previewExpiry(deps)) shown.push(receipt.id);
    expect(shown).toHaveLength(DUE);
    expect(shown).toEqual(shown.toSorted());
  });
});
