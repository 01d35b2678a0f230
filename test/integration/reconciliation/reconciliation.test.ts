/**
 * A reconciliation with obstacles: everything else is compared, and the rest is named.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSnapshot } from '../../../src/reconciliation/excerpt.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import {
  findBroken,
  readLastVerdicts,
  reconcileAndKeep,
} from '../../../src/reconciliation/lastReconciliation.ts';
import { reconcileProject } from '../../../src/reconciliation/reconcileProject.ts';
import { reconcileReceipts } from '../../../src/reconciliation/reconcileReceipts.ts';
import { INVARIANTS, type Verdict } from '../../../src/reconciliation/verdicts.ts';
import { reconciliationSchedule } from '../../../src/db/tables/index.ts';
import { createReadiness } from '../../../src/http/server/readiness.ts';
import { createReconciliationJob } from '../../../src/jobs/reconciliationJob.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import type { RampProvider } from '../../../src/ramp/port.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { readOpenWork } from '../../../src/resolvers/operations/overdueWork.ts';
import { createLogKey } from '../../../src/transparency/checkpoint.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import type { FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import { withRampFaults } from '../../support/faults/faultyRamp.ts';
import { startMarketplace } from '../../support/http/marketplace.ts';
import { custodySecretKey, openProject } from '../../../devnet/platform.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';
import { makeRestorable, type Restorable } from '../../support/restorable.ts';
import { depositedCashOut } from '../../support/warehouse.ts';
import { runAsCommand } from '../../support/run/runAsCommand.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let faults: FaultPlan = () => null;
let quiet: TokenizedProject;
let busy: TokenizedProject;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform((...call) => faults(...call)));
  quiet = await holding(100n);
  busy = await holding(100n);
  await burn(quiet, 'first');
  await burn(busy, 'settled');
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

async function holding(amountCO2e: bigint): Promise<TokenizedProject> {
  const project = await openProject(platform, amountCO2e);
  const { tokenAddress } = project;
  const input = { buyerId: 'acme', tokenAddress, amountCO2e, idempotencyKey: randomUUID() };
  await purchase(platform.dependencies, 'acme', input);
  return project;
}

async function burn({ tokenAddress }: TokenizedProject, note: string) {
  const input = { buyerId: 'acme', buyerName: 'Acme Ltd', tokenAddress, amountCO2e: 5n, note };
  return retire(platform.dependencies, 'acme', { ...input, idempotencyKey: randomUUID() });
}

/** Waits for complete transparency logs: their job would log a corrupted row, or write during a restore. */
async function restorableDatabase(): Promise<Restorable> {
  await logAll(platform.dependencies.logs);
  return makeRestorable(database);
}

/**
 * Waits until earlier transactions have ended, those of the server's other databases included. While a long
 * one is open, an incremental run also compares older rows.
 */
async function earlierTransactionsOver(): Promise<void> {
  const { db } = database.handle;
  const [next] = await db.execute<{ id: string }>(
    sql`SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id`,
  );
  const oldestOpen = async () => BigInt((await readSnapshot(db)).transaction);
  await expect.poll(oldestOpen).toBeGreaterThanOrEqual(BigInt(next?.id ?? NaN));
}

const COUNT = Object.keys(INVARIANTS).length;

const auditOn = (over: Partial<LedgerNetwork>) =>
  reconcileAll({ ...platform.dependencies, network: { ...network, ...over } });

function those(verdicts: readonly Verdict[], wanted: Verdict['verdict']): string[] {
  return verdicts.filter(({ verdict }) => verdict === wanted).map(({ invariant }) => invariant);
}

describe('nothing in the way', () => {
  it('proves every invariant', async () => {
    const { verdicts, findings, notProved } = await reconcileAll(platform.dependencies);
    expect([findings, notProved]).toEqual([[], []]);
    expect(those(verdicts, 'HOLDS')).toHaveLength(COUNT);
  });
});

describe('an incremental run', () => {
  it('begins where everything agreed, keeps what it finds, and leaves the rest to a full one', async () => {
    const { dependencies } = platform;
    const run = (isFull: boolean) => reconcileAndKeep(dependencies, { isFull });
    await earlierTransactionsOver();
    expect((await run(false)).since).toBeNull();
    await burn(busy, 'since then');
    const again = await run(false);
    expect(again.since).toBeInstanceOf(Date);
    expect([again.projects, those(again.verdicts, 'HOLDS').length]).toEqual([1, COUNT]);

    const restorable = await restorableDatabase();
    await restorable.corrupt(`UPDATE accounts SET owner_id = 'mallory' WHERE owner_id = 'acme'`);
    expect(those((await run(false)).verdicts, 'BROKEN')).toContain('I11');
    const readiness = createReadiness({
      db: dependencies.db,
      network,
      findBroken: () => findBroken(dependencies.db),
      readOpenWork: () => readOpenWork(dependencies.db),
      publicReads: dependencies.publicReads,
      isListening: () => true,
    });
    expect((await readiness()).checks['reconciliation']).toMatch(/^broken: .*I11/);
    await restorable.corrupt(`UPDATE accounts SET owner_id = 'acme' WHERE owner_id = 'mallory'`);
    await restorable.close();
    expect(those((await run(false)).verdicts, 'BROKEN')).toContain('I11');
    expect(those((await run(true)).verdicts, 'HOLDS')).toHaveLength(COUNT);
    expect((await readiness()).checks['reconciliation']).toBeUndefined();
  });

  it('is done by a job, once for all instances', async () => {
    const schedule = () => database.handle.db.select().from(reconciliationSchedule);
    const job = createReconciliationJob(platform.dependencies, { timeZone: 'UTC' });
    const other = createReconciliationJob(platform.dependencies, { timeZone: 'UTC' });
    const before = (await readLastVerdicts(database.handle.db)).get('I1');
    await Promise.all([job.poll(), other.poll()]);
    const after = (await readLastVerdicts(database.handle.db)).get('I1');
    expect(after?.fullyComparedAt?.getTime()).toBeGreaterThan(before?.fullyComparedAt?.getTime() ?? 0);
    const [due] = await schedule();
    expect(due?.fullDueAt.getUTCHours()).toBe(3);
    await job.poll();
    await job.poll();
    expect((await schedule())[0]).toMatchObject({ fullDueAt: due?.fullDueAt });
    await Promise.all([job.stop(), other.stop()]);
  });

  it('is followed by the full one of the same morning when an earlier one ends after midnight', async () => {
    const { db } = database.handle;
    // A zone in which it is one o'clock; the names of these zones have the opposite sign.
    const hoursAhead = ((1 - new Date().getUTCHours() + 35) % 24) - 11;
    const timeZone = `Etc/GMT${hoursAhead > 0 ? '-' : '+'}${Math.abs(hoursAhead)}`;
    const job = createReconciliationJob(platform.dependencies, { timeZone });
    await db.update(reconciliationSchedule).set({ fullDueAt: new Date() });
    await job.poll();
    const [due] = await db.select().from(reconciliationSchedule);
    const hoursLeft = ((due?.fullDueAt.getTime() ?? 0) - Date.now()) / 3_600_000;
    expect(hoursLeft).toBeGreaterThan(0);
    expect(hoursLeft).toBeLessThan(3);
    await job.stop();
  });

  it('comes once a night also in a time zone whose name PostgreSQL does not know', async () => {
    const { db } = database.handle;
    const timeZone = 'NET';
    await expect(db.execute(sql`SELECT now() AT TIME ZONE ${timeZone}`)).rejects.toThrow();
    const job = createReconciliationJob(platform.dependencies, { timeZone });
    // Simulates a database clock that was set back.
    await db.update(reconciliationSchedule).set({ fullDueAt: sql`now() + interval '40 days'` });
    await job.poll();
    const [due] = await db.select().from(reconciliationSchedule);
    expect(due?.fullDueAt.toISOString().slice(11)).toBe('23:00:00.000Z');
    await job.stop();
  });
});

it('is not run again at once when it takes long', async () => {
  const { db } = database.handle;
  const dueSecondsAfter = async (ms: number) => {
    const times = [0, ms];
    const nowMs = () => times.shift() ?? NaN;
    const job = createReconciliationJob(platform.dependencies, { timeZone: 'UTC', nowMs });
    await db.update(reconciliationSchedule).set({ dueAt: sql`now()`, fullDueAt: sql`'infinity'` });
    await job.poll();
    await job.stop();
    const [due] = await db
      .select({ seconds: sql<number>`extract(epoch FROM due_at - now())::float8` })
      .from(reconciliationSchedule);
    return Math.round((due?.seconds ?? NaN) / 100) * 100;
  };
  expect(await dueSecondsAfter(1_000)).toBe(300);
  expect(await dueSecondsAfter(120_000)).toBe(1_200);
  expect(await dueSecondsAfter(3_600_000)).toBe(3_600);
  // Its starting point is of another database, so the run compares everything; the next may have to, too.
  await db.execute(sql`UPDATE reconciled_invariants SET database = 'another'`);
  expect(await dueSecondsAfter(120_000)).toBe(1_200);
  // The run has no starting point, so its duration says nothing about the next run.
  await db.execute(
    sql`UPDATE reconciled_invariants SET database = NULL, transaction = NULL, agreed_at = NULL`,
  );
  expect(await dueSecondsAfter(120_000)).toBe(300);
});

describe('a network that does not answer', () => {
  it('is asked about everything again within the hour, not the next night', async () => {
    const { db } = database.handle;
    const silent = { ...network, carbonTotals: () => Promise.reject(new NetworkUnavailable('maintenance')) };
    const job = createReconciliationJob({ ...platform.dependencies, network: silent }, { timeZone: 'UTC' });
    await db.update(reconciliationSchedule).set({ fullDueAt: new Date() });
    await job.poll();
    const [due] = await db
      .select({ minutes: sql<number>`extract(epoch FROM full_due_at - now())::float8 / 60` })
      .from(reconciliationSchedule);
    expect(due?.minutes).toBeGreaterThan(30);
    expect(due?.minutes).toBeLessThan(61);
    await job.stop();
  });

  it('leaves one token unproved, and compares the others', async () => {
    const { verdicts, notProved, unsettledProjects } = await auditOn({
      async carbonTotals(tokenAddress) {
        if (tokenAddress === quiet.tokenAddress) throw new NetworkUnavailable('connection refused');
        return network.carbonTotals(tokenAddress);
      },
    });
    expect(unsettledProjects).toBe(1);
    expect(those(verdicts, 'NOT_PROVED')).toEqual(['I2', 'I3', 'I4', 'I10']);
    expect(those(verdicts, 'BROKEN')).toEqual([]);
    expect(notProved[0]).toMatchObject({
      obstacle: 'NO_ANSWER',
      message: `${quiet.assetId}: connection refused`,
    });
  });

  it('does not take a page that is short, or of other records, for the history', async () => {
    const { verdicts } = await auditOn({
      retirementRecords: async (tokenAddress, from, limit) => ({
        ...(await network.retirementRecords(tokenAddress, from, limit)),
        records: [],
      }),
    });
    expect(those(verdicts, 'NOT_PROVED')).toEqual(['I3', 'I4', 'I10']);
  });

  it('proves nothing when it is away', async () => {
    const away = async () => {
      throw new NetworkUnavailable('connection refused');
    };
    await expect(auditOn({ status: away })).rejects.toThrow(NetworkUnavailable);
  });
});

describe('a history that is too long for one query', () => {
  it('is compared from its end, and the rest is named', async () => {
    await burn(quiet, 'second');
    const newest = await reconcileProject({ ...platform.dependencies, maxRecords: 1 }, quiet);
    expect(newest.findings).toEqual([]);
    expect(newest.notProved.map(({ invariant, obstacle }) => `${invariant} ${obstacle}`)).toEqual([
      'I3 LEFT_OUT',
      'I4 LEFT_OUT',
      'I10 LEFT_OUT',
    ]);
    expect(await reconcileProject({ ...platform.dependencies, maxRecords: 2 }, quiet)).toMatchObject({
      notProved: [],
    });
  });

  it('is compared whole where each answer ends after one record', async () => {
    const { verdicts } = await auditOn({
      retirementRecords: (tokenAddress, from, limit) =>
        network.retirementRecords(tokenAddress, from, Math.min(limit, 1)),
    });
    expect(those(verdicts, 'NOT_PROVED')).toEqual([]);
  });
});

describe('a token that is missing', () => {
  it('is a finding of its project, and of no other', async () => {
    const restorable = await restorableDatabase();
    await restorable.corrupt(
      `UPDATE projects SET token_address = '${network.custodyAddress}' WHERE id = '${quiet.id}'`,
    );
    const { findings } = await reconcileAll(platform.dependencies);
    const missing = { ...quiet, tokenAddress: network.custodyAddress };
    const reconciliation = await reconcileProject(platform.dependencies, missing);
    await restorable.restore();
    await restorable.close();
    expect(findings.filter(({ invariant }) => invariant === 'I3')).toMatchObject([
      { message: expect.stringContaining('CONTRACT_NOT_FOUND') },
    ]);
    expect(reconciliation).toMatchObject({ network: null, books: { issued: 100n } });
    expect(those(reconciliation.verdicts, 'BROKEN')).toEqual(['I3']);
  });
});

describe('a provider', () => {
  it('that does not answer, or does not give the amount, leaves payouts unproved', async () => {
    const { dependencies } = platform;
    const { ramp } = dependencies;
    await depositedCashOut(platform);
    const unproved = async (provider: Pick<RampProvider, 'name' | 'findSessionByReference'>) => {
      const { findings, notProved } = await reconcileAll({ ...dependencies, ramp: provider });
      expect(findings).toEqual([]);
      return notProved.map(({ invariant, obstacle }) => `${invariant} ${obstacle}`);
    };
    expect(await unproved(ramp)).toEqual([]);
    expect(await unproved(withRampFaults(ramp, () => 'unreachable'))).toEqual(['I13 NO_ANSWER']);
    expect(await unproved({ ...ramp, name: 'other' })).toEqual(['I13 NO_DATA']);
    const findSessionByReference: RampProvider['findSessionByReference'] = async (reference) => {
      const found = await ramp.findSessionByReference(reference);
      return found && { sessionId: found.sessionId, status: found.status };
    };
    expect(await unproved({ name: ramp.name, findSessionByReference })).toEqual(['I13 NO_DATA']);
  });

  it('that another one took the place of leaves its payouts unproved until a full run', async () => {
    const { dependencies } = platform;
    const run = async (isFull: boolean, over: Partial<RampProvider> = {}) => {
      const ramp = { ...dependencies.ramp, ...over };
      const { verdicts } = await reconcileAndKeep({ ...dependencies, ramp }, { isFull });
      const { notProved } = (await readLastVerdicts(dependencies.db)).get('I13') ?? {};
      return [those(verdicts, 'NOT_PROVED'), notProved];
    };
    const unproved = [
      ['I13'],
      [
        {
          invariant: 'I13',
          obstacle: 'NO_DATA',
          message: '1 payouts are of other providers than "other", which is configured',
        },
      ],
    ];
    expect(await run(true, { name: 'other' })).toEqual(unproved);
    expect(await run(false)).toEqual(unproved);
    expect(await run(true)).toEqual([[], []]);
  });
});

describe('what changed', () => {
  it('is compared behind more than a page of rows that have nothing on the network', async () => {
    const { receiptId } = await depositedCashOut(platform);
    const receiptIds = [...Array.from({ length: 250 }, () => randomUUID()), receiptId];
    const report = await reconcileReceipts({ ...platform.dependencies, receiptIds });
    expect(report).toMatchObject({ receipts: 1, findings: [], notProved: [] });
  });
});

describe('a burn that landed and waits for review', () => {
  beforeAll(async () => {
    faults = (method) => (method === 'outcome' ? 'history-gone' : null);
    expect(await burn(busy, 'landed unseen')).toMatchObject({ state: 'NEEDS_REVIEW' });
    faults = () => null;
    await network.carbonTotals(busy.tokenAddress);
  });

  it('is named as what is in the way of its own project’s sums and records alone', async () => {
    const { findings, notProved, verdicts } = await reconcileAll(platform.dependencies);
    expect(findings).toEqual([]);
    expect(those(verdicts, 'NOT_PROVED')).toEqual(['I2', 'I4']);
    expect(notProved.every(({ obstacle }) => obstacle === 'UNDER_REVIEW')).toBe(true);
    expect(notProved.every(({ message }) => message.startsWith(`${busy.assetId}: `))).toBe(true);
    expect(notProved[0]?.message).toMatch(/with 5 t held for retirement; submission .* needs review: /);
  });

  it('is named by each incremental run, also when nothing has changed since the one before', async () => {
    const named: string[][] = [];
    for (const isFull of [true, false, false]) {
      const { verdicts, since } = await reconcileAndKeep(platform.dependencies, { isFull });
      expect(since === null).toBe(isFull);
      named.push(those(verdicts, 'NOT_PROVED'));
    }
    expect(named).toEqual(named.map(() => ['I2', 'I4']));
  });

  it('is a disagreement where the caller knows that nothing is on its way', async () => {
    const { findings } = await reconcileAll({ ...platform.dependencies, isStill: true });
    expect(findings.map(({ invariant }) => invariant)).toEqual(['I2', 'I4']);
  });

  it('does not hide more than it holds', async () => {
    const custody = { tokenAddress: busy.tokenAddress, holder: network.custodyAddress };
    const { findings } = await auditOn({
      async balanceOf(tokenAddress, holder) {
        const balance = await network.balanceOf(tokenAddress, holder);
        const isCustody = tokenAddress === custody.tokenAddress && holder === custody.holder;
        return isCustody ? balance - toBaseUnits(1n) : balance;
      },
    });
    expect(findings).toMatchObject([
      { invariant: 'I2', message: expect.stringMatching(/the books say \d+ to \d+$/) },
    ]);
  });

  it('is shown by the query', async () => {
    const market = await startMarketplace({ database, withIndexer: false });
    const { data } = await market.send<{ reconciliation: Record<string, unknown> }>(
      `query ($t: Address!) { reconciliation(tokenAddress: $t) {
        agrees unsettledCount verdicts { invariant verdict } findings { message } notProved { invariant obstacle message } } }`,
      { t: busy.tokenAddress },
      { role: 'operator', subject: 'operator' },
    );
    await market.stop();
    expect(data?.reconciliation).toMatchObject({
      agrees: false,
      unsettledCount: 1,
      verdicts: [
        { invariant: 'I2', verdict: 'NOT_PROVED' },
        { invariant: 'I3', verdict: 'HOLDS' },
        { invariant: 'I4', verdict: 'NOT_PROVED' },
        { invariant: 'I10', verdict: 'HOLDS' },
      ],
      findings: [],
      notProved: [
        { invariant: 'I2', obstacle: 'UNDER_REVIEW', message: expect.stringContaining('needs review') },
        { invariant: 'I4', obstacle: 'UNDER_REVIEW' },
      ],
    });
  });

  it('ends `npm run reconcile` with 2, and a finding with 1', { timeout: 60_000 }, async () => {
    const unproved = await reconcileAt(database.url);
    expect(unproved.code).toBe(2);
    expect(unproved.out).toContain('UNDER_REVIEW');
    const restorable = await restorableDatabase();
    await restorable.corrupt(`UPDATE accounts SET owner_id = 'mallory' WHERE kind = 'buyer'`);
    const corrupted = await reconcileAt(database.url);
    await restorable.restore();
    await restorable.close();
    expect(corrupted.code).toBe(1);
    expect(corrupted.out).toContain('mallory');
  });
});

it(
  'ends `npm run reconcile` with 0 when every invariant holds, and compares kept checkpoints',
  { timeout: 60_000 },
  async () => {
    const empty = await createTestDatabase();
    const { code, out } = await reconcileAt(empty.url);
    expect(out).toContain('0 projects and 0 receipts reconciled: every invariant holds');
    expect(code).toBe(0);
    const folder = await mkdtemp(join(tmpdir(), 'checkpoints-'));
    const kept = join(folder, 'kept');
    const origin = 'tests.example/logs/retirements';
    const checkpoint = { origin, size: 0, root: Buffer.alloc(32), networkId: 'tests' };
    await writeFile(kept, createLogKey(new Uint8Array(32)).signCheckpoint(checkpoint));
    const compared = await reconcileAt(empty.url, ['--incremental', '--from-checkpoint', kept]);
    await Promise.all([empty.drop(), rm(folder, { recursive: true })]);
    expect(compared.out).toContain('compared was what has changed since');
    expect(compared.out).toContain(
      'the checkpoint that was given of the transparency log of retirements is not',
    );
    expect(compared.code).toBe(1);
  },
);

it('ends `npm run reconcile` with 3 when it does not run', { timeout: 60_000 }, async () => {
  const away = await reconcileAt('postgres://localhost:1/none');
  expect(away).toMatchObject({ code: 3, out: expect.stringContaining('localhost:1') });
  const wrong = await reconcileAt('postgres://localhost:1/none', ['--unknown']);
  expect(wrong).toMatchObject({ code: 3, out: expect.stringContaining("unknown option '--unknown'") });
});

/** Runs the command on the embedded network. */
function reconcileAt(databaseUrl: string, options: readonly string[] = []) {
  const settings = { DATABASE_URL: databaseUrl, LEDGER_SECRET_KEY: custodySecretKey };
  return runAsCommand('src/cli/reconcile.ts', settings, options);
}
