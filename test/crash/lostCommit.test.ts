/**
 * Commits that took effect although their answers were lost, and connections that end between a transaction's
 * statements: everything is done once, and nothing of a failed transaction is done.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../src/startup/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { purchases, rateLimits } from '../../src/db/tables/index.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { createProject } from '../../src/resolvers/carbon/createProject.ts';
import type { TokenizedProject } from '../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../src/resolvers/carbon/retire.ts';
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts';
import { startDatabaseProxy, type DatabaseProxy } from '../../devnet/databaseProxy.ts';
import { openProject, projectInput } from '../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../support/platform.ts';
import { retirement } from '../support/holding.ts';

/**
 * postgres.js may leave a query at a bad moment without an answer; the pool gives up after this time. The
 * product waits 10 s.
 */
const ANSWER_TIMEOUT_MS = 3_000;

let database: TestDatabase;
let proxy: DatabaseProxy;
let handle: DatabaseHandle;
let platform: Platform;

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  handle = openDatabase({
    url: proxy.url,
    poolSize: 6,
    applicationName: 'behind the proxy',
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
  });
  platform = await platformOn(handle, await embeddedNetworkOn(handle));
  await platform.start();
});
afterEach(async () => {
  await platform.stop();
  await handle.close();
  await proxy.close();
  await database.drop();
});

/** Loses the answers of the first transactions that contain all parts. @returns how many were lost */
function loseTimes(times: number, ...parts: string[]): () => number {
  let lost = 0;
  proxy.loseCommitsWhen((statements) => {
    const isWanted = parts.every((part) => statements.some((statement) => statement.includes(part)));
    if (lost >= times || !isWanted) return false;
    lost += 1;
    return true;
  });
  return () => lost;
}

function loseOnce(...parts: string[]): () => boolean {
  const lost = loseTimes(1, ...parts);
  return () => lost() === 1;
}

async function boughtProject(): Promise<TokenizedProject> {
  const project = await openProject(platform, 100n);
  await purchase(platform.dependencies, 'acme', purchaseInput(project, randomUUID()));
  return project;
}

const purchaseInput = (project: TokenizedProject, idempotencyKey: string) => ({
  buyerId: 'acme',
  tokenAddress: project.tokenAddress,
  amountCO2e: 50n,
  idempotencyKey,
});

const retireInput = (project: TokenizedProject) => retirement(project.tokenAddress, 30n);

async function expectOneBurn(project: TokenizedProject): Promise<void> {
  const { network } = platform.dependencies;
  expect(await network.carbonTotals(project.tokenAddress)).toEqual({
    totalSupply: toBaseUnits(70n),
    totalRetired: toBaseUnits(30n),
    totalRetirements: 1,
  });
  expect(await reconcileAll(platform.dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
}

describe('a commit whose answer is lost', () => {
  it('of the hold: it is sent again, and finds what it did', async () => {
    const project = await boughtProject();
    const input = retireInput(project);
    const wasLost = loseOnce('post_transfers', 'INSERT INTO "retirements"');
    const retirement = await retire(platform.dependencies, 'acme', input);
    expect(wasLost()).toBe(true);
    expect(retirement.state).toBe('RETIRED');
    expect((await retire(platform.dependencies, 'acme', input)).id).toBe(retirement.id);
    await expectOneBurn(project);
  });

  it('of the hold, twice: the same request again finds what it did', async () => {
    const project = await boughtProject();
    const input = retireInput(project);
    const lost = loseTimes(2, 'post_transfers');
    await expect(retire(platform.dependencies, 'acme', input)).rejects.toThrow();
    expect(lost()).toBe(2);
    expect((await retire(platform.dependencies, 'acme', input)).state).toBe('RETIRED');
    await expectOneBurn(project);
  });

  it.each([
    ['of the attempt', ['INSERT INTO "attempts"']],
    ['of the ledger that it lands in', ['INSERT INTO "embedded_network"."transactions"']],
    ['of the settlement', ['UPDATE "submissions" s SET state = \'SUCCEEDED\'', 'post_transfers']],
  ])('%s: the burn is made and settled once', async (_name, parts) => {
    const project = await boughtProject();
    const wasLost = loseOnce(...parts);
    const retirement = await retire(platform.dependencies, 'acme', retireInput(project));
    expect(wasLost()).toBe(true);
    expect(retirement.state).toBe('RETIRED');
    await expectOneBurn(project);
  });

  it.each([
    ['of the deploy', ['update "projects"', 'INSERT INTO "submissions"']],
    ['of the mint', ['update "projects"', 'post_transfers']],
  ])('%s: the credits are issued once', async (_name, parts) => {
    const wasLost = loseOnce(...parts);
    const input = projectInput({ quantityCO2e: 100n });
    const project = await createProject(platform.dependencies, 'developer', input);
    expect(wasLost()).toBe(true);
    expect(project.state).toBe('OPEN');
    const supply = await platform.dependencies.network.totalSupply(project.tokenAddress ?? '');
    expect(supply).toBe(toBaseUnits(100n));
    expect(await reconcileAll(platform.dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
  });

  const bought = async (project: TokenizedProject) => {
    const rows = await handle.db.select().from(purchases).where(eq(purchases.projectId, project.id));
    return rows.map(({ id }) => id).sort();
  };

  it('of purchases: they are sent again, and buy nothing more', async () => {
    const project = await openProject(platform, 100n);
    const inputs = Array.from({ length: 20 }, () => ({
      ...purchaseInput(project, randomUUID()),
      amountCO2e: 3n,
    }));
    const wasLost = loseOnce('post_transfers');
    const done = await Promise.all(inputs.map((input) => purchase(platform.dependencies, 'acme', input)));
    expect(wasLost()).toBe(true);
    expect(await bought(project)).toEqual(done.map(({ id }) => id).sort());
    // The repeated request returns the stored purchase.
    const again = await purchase(platform.dependencies, 'acme', inputs[7] ?? purchaseInput(project, ''));
    expect(again).toEqual(done[7]);
    expect((await reconcileAll(platform.dependencies)).findings).toEqual([]);
  });

  it('of a batch in which some are short: each has its own answer', async () => {
    const project = await openProject(platform, 100n);
    const wasLost = loseOnce('post_transfers');
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () =>
        purchase(platform.dependencies, 'acme', { ...purchaseInput(project, randomUUID()), amountCO2e: 40n }),
      ),
    );
    expect(wasLost()).toBe(true);
    expect(outcomes.map(({ status }) => status).sort()).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ]);
    expect(await bought(project)).toHaveLength(2);
    expect((await reconcileAll(platform.dependencies)).findings).toEqual([]);
  });

  it('of a purchase, twice: the same request again buys nothing more', async () => {
    const project = await openProject(platform, 100n);
    const input = purchaseInput(project, randomUUID());
    const lost = loseTimes(2, 'post_transfers');
    await expect(purchase(platform.dependencies, 'acme', input)).rejects.toThrow();
    expect(lost()).toBe(2);
    const again = await purchase(platform.dependencies, 'acme', input);
    expect(await bought(project)).toEqual([again.id]);
    expect((await reconcileAll(platform.dependencies)).findings).toEqual([]);
  });
});

describe.each(['cut', 'reset'] as const)('a connection %s', (how) => {
  const openSmall = () =>
    openDatabase({ url: proxy.url, poolSize: 4, applicationName: 'small', answerTimeoutMs: 8_000 });
  const mark = (key: string) => ({ key, points: 1, endsAt: sql`now()` });
  const marks = () => database.handle.db.select({ key: rateLimits.key }).from(rateLimits);

  /** The server notices a lost client only when its statement ends. */
  const endSleepers = () =>
    database.handle.sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event = 'PgSleep'`;

  it('between two statements takes its transaction with it, also when the pool is in use meanwhile', async () => {
    const small = openSmall();
    const work = small.db.transaction(async (tx) => {
      await tx.insert(rateLimits).values(mark('before'));
      proxy.strike(how);
      // Others make the pool connect anew: what follows must not run on their connections.
      await Promise.allSettled(Array.from({ length: 12 }, () => small.db.execute(sql`SELECT 1`)));
      await Promise.all(Array.from({ length: 12 }, () => small.db.execute(sql`SELECT pg_sleep(0.05)`)));
      await tx.insert(rateLimits).values(mark('after'));
    });
    await expect(work).rejects.toThrow();
    await small.db.transaction((tx) => tx.insert(rateLimits).values(mark('next')));
    expect(await marks()).toEqual([{ key: 'next' }]);
    await small.close();
  });

  it('during a statement fails that transaction alone, and the pool goes on', async () => {
    const small = openSmall();
    const work = small.db.transaction(async (tx) => {
      await tx.insert(rateLimits).values(mark('before'));
      setTimeout(() => proxy.strike(how), 100);
      await tx.execute(sql`SELECT pg_sleep(5)`);
    });
    await expect(work).rejects.toThrow();
    for (let i = 0; i < 12; i++) {
      const [row] = await small.db.select({ i: sql<number>`${i}::int` }).from(sql`(VALUES (1)) AS one`);
      expect(row).toEqual({ i });
    }
    expect(await marks()).toEqual([]);
    await small.close();
    await endSleepers();
  });
});
