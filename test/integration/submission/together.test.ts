/**
 * Many retirements settled together: one that can't be written, or is locked elsewhere, delays no other.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { retirementRecords, retirements, submissions } from '../../../src/db/tables/index.ts';
import { createSubmissionWorker } from '../../../src/ledger/submission/worker.ts';
import type { SubmissionDependencies } from '../../../src/ledger/submission/submission.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { openProject } from '../../../devnet/platform.ts';
import { changePastRules, type TestDatabase } from '../../support/database/database.ts';
import { startPlatform, type StartedPlatform } from '../../support/platform.ts';
import { retirement } from '../../support/holding.ts';

const COUNT = 12;
const PATIENCE = { timeout: 60_000 };

let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];
let worker: ReturnType<typeof createSubmissionWorker>;

beforeEach(async () => {
  ({ database, platform, end } = await startPlatform());
});
afterEach(async () => {
  await worker.stop();
  await end();
});

/** Retirements with held credits that no worker has seen. */
async function holdMany(): Promise<string[]> {
  const { dependencies } = platform;
  const { tokenAddress } = await openProject(platform, 100n);
  const owned = { buyerId: 'acme', tokenAddress, amountCO2e: 100n, idempotencyKey: randomUUID() };
  await purchase(dependencies, 'acme', owned);
  await platform.submissionWorker.stop();
  const held = await Promise.all(
    Array.from({ length: COUNT }, () =>
      retire({ ...dependencies, mutationWaitMs: 0 }, 'acme', retirement(tokenAddress, 1n)),
    ),
  );
  return held.map(({ id }) => id);
}

function work(overrides: Partial<SubmissionDependencies> = {}): void {
  worker = createSubmissionWorker({ ...platform.dependencies.submission, ...overrides });
  worker.start();
}

async function countOf(state: (typeof retirements.state.enumValues)[number]): Promise<number> {
  return database.handle.db.$count(retirements, eq(retirements.state, state));
}

it('settles the others and brings the one that can not be written before an operator', async () => {
  const [bad = ''] = await holdMany();
  // Simulates a defect: the amount is more than was held.
  await changePastRules(database, sql`UPDATE retirements SET amount_tonnes = 1000 WHERE id = ${bad}`);
  work();
  await expect.poll(() => countOf('RETIRED'), PATIENCE).toBe(COUNT - 1);
  const submissionOfBad = async () => {
    const [row] = await database.handle.db.select().from(submissions).where(eq(submissions.targetId, bad));
    return row;
  };
  await expect.poll(async () => (await submissionOfBad())?.state, PATIENCE).toBe('NEEDS_REVIEW');
  expect(await submissionOfBad()).toMatchObject({ reviewCause: 'SETTLEMENT_FAILED', failedSettlements: 5 });
  expect(await countOf('NEEDS_REVIEW')).toBe(1);
});

it('waits for none that another transaction holds', async () => {
  const [held = ''] = await holdMany();
  const { db } = database.handle;
  let letGo: () => void = () => {};
  let holding: Promise<unknown> | undefined;
  const crashPoint: SubmissionDependencies['crashPoint'] = async (point) => {
    if (point !== 'attempt-committed' || holding) return;
    await new Promise<void>((locked) => {
      holding = db.transaction(async (tx) => {
        await tx.select().from(submissions).where(eq(submissions.targetId, held)).for('update');
        locked();
        await new Promise<void>((resolve) => (letGo = resolve));
      });
    });
  };
  work({ crashPoint });
  await expect.poll(() => countOf('RETIRED'), PATIENCE).toBe(COUNT - 1);
  expect(await countOf('PENDING')).toBe(1);
  letGo();
  await holding;
  await expect.poll(() => countOf('RETIRED'), PATIENCE).toBe(COUNT);
});

it('stores the records with the settlement, each with its transaction', async () => {
  await holdMany();
  let seen: number | null = null;
  const crashPoint: SubmissionDependencies['crashPoint'] = async (point) => {
    if (point !== 'settlement-committed') return;
    seen ??= await database.handle.db.$count(retirementRecords, sql`tx_hash IS NOT NULL`);
  };
  work({ crashPoint });
  await expect.poll(() => countOf('RETIRED'), PATIENCE).toBe(COUNT);
  // The count runs concurrently with the next settlements.
  await expect.poll(() => seen, PATIENCE).toBeGreaterThan(0);
  await expect
    .poll(() => database.handle.db.$count(retirementRecords, sql`tx_hash IS NOT NULL`), PATIENCE)
    .toBe(COUNT);
});

it('settles together what another transaction held for a moment', async () => {
  await holdMany();
  const { db } = database.handle;
  let letGo: () => void = () => {};
  let holding: Promise<unknown> | undefined;
  let settlements = 0;
  const crashPoint: SubmissionDependencies['crashPoint'] = async (point) => {
    if (point === 'settlement-committed') settlements += 1;
    if (point !== 'attempt-committed' || holding) return;
    await new Promise<void>((locked) => {
      // A renewal of leases takes the same locks.
      holding = db.transaction(async (tx) => {
        await tx.select().from(submissions).for('no key update');
        locked();
        await new Promise<void>((resolve) => (letGo = resolve));
      });
    });
  };
  work({ crashPoint });
  const waiting = async () => {
    const rows = await db.execute(
      sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length;
  };
  await expect.poll(waiting, PATIENCE).toBeGreaterThan(0);
  letGo();
  await holding;
  await expect.poll(() => countOf('RETIRED'), PATIENCE).toBe(COUNT);
  // The first settlement to meet the lock waits alone; those that come meanwhile are settled together.
  expect(settlements).toBeLessThanOrEqual(3);
});

it('settles what the feed can’t store, and leaves that to the feed filler', async () => {
  await holdMany();
  const { feed } = platform.dependencies;
  const { network } = feed;
  feed.network = {
    ...network,
    async retirementRecords(...asked) {
      const page = await network.retirementRecords(...asked);
      return { ...page, records: page.records.map((record) => ({ ...record, amount: 10n ** 50n })) };
    },
  };
  work();
  await expect.poll(() => countOf('RETIRED'), PATIENCE).toBe(COUNT);
  // The feed filler reads them on its own.
  await expect.poll(() => database.handle.db.$count(retirementRecords), PATIENCE).toBe(COUNT);
});
