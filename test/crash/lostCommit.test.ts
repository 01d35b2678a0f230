/**
 * Commits that took effect although their answers were lost, and connections that end between a transaction's
 * statements: everything is done once, and nothing of a dead transaction is done at all.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import type { Platform } from '../../src/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { purchases, rateLimits } from '../../src/db/schema/index.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { createProject } from '../../src/resolvers/createProject.ts';
import type { TokenizedProject } from '../../src/resolvers/findProject.ts';
import { purchase } from '../../src/resolvers/purchase.ts';
import { retire } from '../../src/resolvers/retire.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { startDatabaseProxy, type DatabaseProxy } from '../harness/databaseProxy.ts';
import { embeddedNetworkOn, openProject, platformOn, projectInput } from '../harness/platform.ts';

let database: TestDatabase;
let proxy: DatabaseProxy;
let handle: DatabaseHandle;
let platform: Platform;

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  handle = openDatabase({ url: proxy.url, poolSize: 6, applicationName: 'behind the proxy' });
  platform = await platformOn(handle, await embeddedNetworkOn(handle));
  await platform.start();
});
afterEach(async () => {
  await platform.stop();
  await handle.close();
  await proxy.close();
  await database.drop();
});

/** Loses the answer of the first transaction that did all of this; says whether there was one. */
function loseOnce(...parts: string[]): () => boolean {
  let isLost = false;
  proxy.loseCommitsWhen((statements) => {
    const isWanted = parts.every((part) => statements.some((statement) => statement.includes(part)));
    if (isLost || !isWanted) return false;
    isLost = true;
    return true;
  });
  return () => isLost;
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

const retireInput = (project: TokenizedProject) => ({
  buyerId: 'acme',
  buyerName: 'Acme Ltd',
  tokenAddress: project.tokenAddress,
  amountCO2e: 30n,
  note: '',
  idempotencyKey: randomUUID(),
});

async function expectOneBurn(project: TokenizedProject): Promise<void> {
  const { network } = platform.dependencies;
  expect(await network.carbonTotals(project.tokenAddress)).toEqual({
    totalSupply: toBaseUnits(70n),
    totalRetired: toBaseUnits(30n),
    totalRetirements: 1,
  });
  expect(await audit(platform.dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
}

describe('a commit whose answer is lost', () => {
  it('of the request: the same request again finds what it did', async () => {
    const project = await boughtProject();
    const input = retireInput(project);
    const wasLost = loseOnce('"idempotency_keys"', 'insert into "retirements"');
    await expect(retire(platform.dependencies, 'acme', input)).rejects.toThrow();
    expect(wasLost()).toBe(true);
    expect((await retire(platform.dependencies, 'acme', input)).state).toBe('RETIRED');
    await expectOneBurn(project);
  });

  it.each([
    ['of the attempt', ['insert into "attempts"']],
    ['of the ledger that it lands in', ['insert into "embedded_network"."transactions"']],
    ['of the settlement', ['update "submissions"', 'update "retirements"', 'insert into "transfers"']],
  ])('%s: the burn is made and settled once', async (_name, parts) => {
    const project = await boughtProject();
    const wasLost = loseOnce(...parts);
    const retirement = await retire(platform.dependencies, 'acme', retireInput(project));
    expect(wasLost()).toBe(true);
    expect(retirement.state).toBe('RETIRED');
    await expectOneBurn(project);
  });

  it.each([
    ['of the deploy', ['update "projects"', 'insert into "submissions"']],
    ['of the mint', ['update "projects"', 'insert into "transfers"']],
  ])('%s: the credits are issued once', async (_name, parts) => {
    const wasLost = loseOnce(...parts);
    const input = projectInput({ quantityCO2e: 100n });
    const project = await createProject(platform.dependencies, 'developer', input);
    expect(wasLost()).toBe(true);
    expect(project.state).toBe('OPEN');
    const supply = await platform.dependencies.network.totalSupply(project.tokenAddress ?? '');
    expect(supply).toBe(toBaseUnits(100n));
    expect(await audit(platform.dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
  });

  it('of a purchase: the same request again buys nothing more', async () => {
    const project = await openProject(platform, 100n);
    const input = purchaseInput(project, randomUUID());
    const wasLost = loseOnce('insert into "purchases"');
    await expect(purchase(platform.dependencies, 'acme', input)).rejects.toThrow();
    expect(wasLost()).toBe(true);
    const again = await purchase(platform.dependencies, 'acme', input);
    const bought = await handle.db.select().from(purchases).where(eq(purchases.projectId, project.id));
    expect(bought.map(({ id }) => id)).toEqual([again.id]);
    expect((await audit(platform.dependencies)).findings).toEqual([]);
  });
});

describe.each(['ended', 'reset'] as const)('a connection %s', (how) => {
  /** postgres.js may leave everything that it was asked at a bad moment without an answer: given up soon. */
  const openSmall = () =>
    openDatabase({ url: proxy.url, poolSize: 4, applicationName: 'small', answerTimeoutMs: 8_000 });
  const mark = (key: string) => ({ key, points: 1, expire: null });
  const marks = () => database.handle.db.select({ key: rateLimits.key }).from(rateLimits);

  it('between two statements takes its transaction with it, also when the pool is in use meanwhile', async () => {
    const small = openSmall();
    const work = small.db.transaction(async (tx) => {
      await tx.insert(rateLimits).values(mark('before'));
      proxy.cutAll(how);
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
      setTimeout(() => proxy.cutAll(how), 100);
      await tx.execute(sql`SELECT pg_sleep(5)`);
    });
    await expect(work).rejects.toThrow();
    for (let i = 0; i < 12; i++) {
      const [row] = await small.db.select({ i: sql<number>`${i}::int` }).from(sql`(VALUES (1)) AS one`);
      expect(row).toEqual({ i });
    }
    expect(await marks()).toEqual([]);
    await small.close();
  });
});
