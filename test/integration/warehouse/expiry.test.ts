/**
 * The expiry job: each run handles every due receipt once, whatever other runs or stopped instances do.
 */
import { and, eq, sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { Db, Tx } from '../../../src/db/connection.ts';
import { expiryItems, expiryRuns, receipts, submissions } from '../../../src/db/tables/index.ts';
import { finishIfComplete } from '../../../src/jobs/expiryEffects.ts';
import { previewExpiry } from '../../../src/jobs/dueReceipts.ts';
import { sweep } from '../../../src/jobs/expireReceipts.ts';
import { countRun, findRun, listRuns, requestRun, type ExpiryRun } from '../../../src/jobs/expiryRuns.ts';
import { createNightlyExpiry, EXPIRY_CRON, latestNight } from '../../../src/jobs/nightlyExpiry.ts';
import { decideSubmission } from '../../support/decisions.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { STORAGE_SECONDS } from '../../../src/resolvers/warehouse/createDeposit.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { addRun } from '../../support/database/expiryRun.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { insertDueReceipts } from '../../support/database/receipts.ts';
import { withFaults, type FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { activeReceipt } from '../../support/warehouse.ts';
import { listFailures } from '../../support/histories.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let second: Platform;
let faults: FaultPlan = () => null;
/** The addresses in each batched question about expiry. */
let asked: string[][] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  const listening: EmbeddedNetwork = {
    ...network,
    async expiryOf(addresses) {
      asked.push([...addresses]);
      return network.expiryOf(addresses);
    },
  };
  const faulty = withFaults(listening, (...call) => faults(...call));
  platform = await platformOn(database.handle, faulty);
  second = await platformOn(database.handle, faulty);
  await platform.start();
});
afterEach(() => {
  faults = () => null;
});
afterAll(async () => {
  const report = await reconcileAll(platform.dependencies);
  await Promise.all([platform.stop(), second.stop()]);
  await database.drop();
  expect(report.findings).toEqual([]);
});

/** Makes `count` receipts due by the network's clock, and no others. */
async function dueReceipts(count: number) {
  await network.advanceClock(Number(STORAGE_SECONDS) + 1);
  await runOnce();
  asked = [];
  const made = await Promise.all(
    Array.from({ length: count }, () => activeReceipt(platform, { quantityKg: 10n })),
  );
  await network.advanceClock(Number(STORAGE_SECONDS) + 1);
  return made;
}

/** In the order in which a sweep examines them. */
function inOrder<T extends { id: string; expiryDate: bigint }>(due: readonly T[]): T[] {
  return due.toSorted((a, b) => Number(a.expiryDate - b.expiryDate) || (a.id < b.id ? -1 : 1));
}

async function stateOf(receiptId: string) {
  const [row] = await database.handle.db.select().from(receipts).where(eq(receipts.id, receiptId));
  return row;
}

async function marksOf(receiptId: string): Promise<number> {
  return database.handle.db.$count(
    submissions,
    and(eq(submissions.targetId, receiptId), eq(submissions.kind, 'markExpired')),
  );
}

/** Requests a run by hand, and resolves when the platform's workers have finished it. */
async function runOnce(requestedBy = 'a test'): Promise<ExpiryRun> {
  const run = await requestRun(platform.dependencies, { trigger: 'MANUAL', night: null, requestedBy });
  return finished(run);
}

/** A run that the test itself sweeps: the workers don't take it before its due time. */
const runOfTest = async () => ({ id: await addRun(database.handle.db, '5 minutes') });

async function finished(run: Pick<ExpiryRun, 'id'> | null): Promise<ExpiryRun> {
  const id = run?.id ?? '';
  await expect.poll(async () => (await findRun(platform.dependencies, id))?.endedAt).toBeInstanceOf(Date);
  const done = await findRun(platform.dependencies, id);
  if (!done) throw new Error('the run has vanished');
  return done;
}

describe('a run', () => {
  it('marks what is due and leaves the rest, from the index of due receipts alone', async () => {
    const due = await dueReceipts(3);
    const fresh = await Promise.all([activeReceipt(platform), activeReceipt(platform)]);
    const run = await runOnce();
    for (const { id, tokenAddress } of due) {
      const receipt = await stateOf(id);
      expect(receipt?.state).toBe('EXPIRED');
      expect(receipt?.expiredTxHash).toMatch(/^[0-9a-fx]{64,66}$/);
      expect(await network.expiryOf([tokenAddress])).toMatchObject([{ status: 'EXPIRED' }]);
    }
    for (const { id } of fresh) expect(await stateOf(id)).toMatchObject({ state: 'ACTIVE' });
    expect(await countRun(platform.dependencies, run.id)).toEqual({
      examined: 3,
      pending: 0,
      expired: 3,
      notDue: 0,
      failed: 0,
    });
    // The page needs one question, about due receipts only.
    expect(asked).toHaveLength(1);
    expect(new Set(asked.flat())).toEqual(new Set(due.map(({ tokenAddress }) => tokenAddress)));
  });

  it('reads the due ones through the partial index', async () => {
    const plan = await database.handle.db.transaction(async (tx) => {
      // PostgreSQL would scan so small a table; the test asks whether the index can answer.
      await tx.execute(sql`SET LOCAL enable_seqscan = off`);
      return tx.execute(sql`EXPLAIN SELECT id FROM receipts WHERE state = 'ACTIVE' AND expiry_date < 2000000000
        ORDER BY expiry_date, id LIMIT 200`);
    });
    expect(JSON.stringify(plan)).toContain('receipts_due');
  });

  it('does not let one bad receipt stop the rest, says why, and tries it again the next time', async () => {
    const [bad, ...good] = await dueReceipts(4);
    faults = (_method, _n, call) =>
      call?.kind === 'markExpired' && call.tokenAddress === bad?.tokenAddress ? 'refused' : null;
    const run = await runOnce();
    expect(await countRun(platform.dependencies, run.id)).toMatchObject({ expired: 3, failed: 1 });
    const failures = await listFailures(platform.dependencies, run.id);
    expect(failures).toMatchObject([{ receiptId: bad?.id, message: 'draft refused by the test' }]);
    for (const { id } of good) expect(await stateOf(id)).toMatchObject({ state: 'EXPIRED' });
    expect(await stateOf(bad?.id ?? '')).toMatchObject({ state: 'ACTIVE' });
    const again = await runOnce();
    expect(await countRun(platform.dependencies, again.id)).toMatchObject({ examined: 1, failed: 1 });

    faults = () => null;
    const next = await runOnce();
    expect(await countRun(platform.dependencies, next.id)).toMatchObject({ examined: 1, expired: 1 });
    expect(await stateOf(bad?.id ?? '')).toMatchObject({ state: 'EXPIRED' });
  });

  it('reads the failures of a run without its other receipts', async () => {
    const run = await runOnce();
    await changePastRules(
      database,
      sql`INSERT INTO expiry_items (run_id, receipt_id, state, message, decided_at)
        SELECT ${run.id}, gen_random_uuid(), CASE WHEN i = 7 THEN 'FAILED' ELSE 'NOT_DUE' END::expiry_item_state, 'why', now()
        FROM generate_series(1, 500) AS i`,
    );
    const read = await database.handle.db.transaction(async (tx) => {
      // PostgreSQL would scan so small a table; the test asks whether the index can answer.
      await tx.execute(sql`SET LOCAL enable_seqscan = off`);
      // The numbers begin with what the connection read before and has not reported yet.
      const readSoFar = async () => {
        const [row] = await tx.execute<{
          read: number;
        }>(sql`SELECT (seq_tup_read + idx_tup_fetch)::int AS read
          FROM pg_stat_xact_user_tables WHERE relname = 'expiry_items'`);
        return row?.read ?? NaN;
      };
      const before = await readSoFar();
      expect(await listFailures({ db: tx }, run.id)).toMatchObject([{ message: 'why' }]);
      return (await readSoFar()) - before;
    });
    await changePastRules(
      database,
      sql`DELETE FROM expiry_items WHERE run_id = ${run.id} AND message = 'why'`,
    );
    expect(read).toBeLessThan(10);
  });

  it('splits a page that the database refuses, so that the receipt at fault fails alone', async () => {
    const [bad, ...good] = await dueReceipts(4);
    await database.handle.sql.unsafe(`
      CREATE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.target_id = '${bad?.id}' THEN RAISE EXCEPTION 'refused by the test'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_one BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION refuse_one()`);
    const run = await runOnce();
    await database.handle.sql.unsafe('DROP TRIGGER refuse_one ON submissions; DROP FUNCTION refuse_one');
    expect(await countRun(platform.dependencies, run.id)).toMatchObject({
      expired: 3,
      failed: 1,
      pending: 0,
    });
    const failures = await listFailures(platform.dependencies, run.id);
    expect(failures).toMatchObject([{ receiptId: bad?.id, message: 'refused by the test' }]);
    for (const { id } of good) expect(await stateOf(id)).toMatchObject({ state: 'EXPIRED' });
    expect(await stateOf(bad?.id ?? '')).toMatchObject({ state: 'ACTIVE' });
    await runOnce();
    expect(await stateOf(bad?.id ?? '')).toMatchObject({ state: 'EXPIRED' });
  });

  it('handles the others in the first sweep, when the database fails at one receipt again and again', async () => {
    const [bad, ...good] = inOrder(await dueReceipts(4));
    await database.handle.sql.unsafe(`
      CREATE FUNCTION fail_one() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.target_id = '${bad?.id}' THEN
          RAISE EXCEPTION 'deadlock detected' USING ERRCODE = 'deadlock_detected';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER fail_one BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION fail_one()`);
    const { id } = await runOfTest();
    await expect(sweep(platform.dependencies, { id })).rejects.toThrow();
    await database.handle.sql.unsafe('DROP TRIGGER fail_one ON submissions; DROP FUNCTION fail_one');
    for (const { id: goodId } of good) {
      await expect.poll(async () => (await stateOf(goodId))?.state).toBe('EXPIRED');
    }
    await sweep(platform.dependencies, { id });
    await finished({ id });
    expect(await countRun(platform.dependencies, id)).toMatchObject({ expired: 4, failed: 0 });
  });

  it('is over when the database fails at one receipt after the other', async () => {
    const due = await dueReceipts(9);
    await database.handle.sql.unsafe(`
      CREATE SEQUENCE tries;
      CREATE FUNCTION fail_all() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM nextval('tries');
        RAISE EXCEPTION 'deadlock detected' USING ERRCODE = 'deadlock_detected';
      END $$;
      CREATE TRIGGER fail_all BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION fail_all()`);
    const { id } = await runOfTest();
    await expect(sweep(platform.dependencies, { id })).rejects.toThrow();
    const [tries] = await database.handle.sql<{ last_value: string }[]>`SELECT last_value FROM tries`;
    await database.handle.sql.unsafe(
      'DROP TRIGGER fail_all ON submissions; DROP FUNCTION fail_all; DROP SEQUENCE tries',
    );
    // Once for the page, and once for each of the first receipts.
    expect(Number(tries?.last_value)).toBeLessThan(due.length);
    await sweep(platform.dependencies, { id });
    await finished({ id });
    expect(await countRun(platform.dependencies, id)).toMatchObject({ expired: 9, failed: 0 });
  });

  it('goes on with a receipt that the database failed at for a moment, in the same run', async () => {
    const [receipt] = await dueReceipts(1);
    await database.handle.sql.unsafe(`
      CREATE SEQUENCE tries;
      CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('tries') = 1 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = 'deadlock_detected'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER fail_once BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION fail_once()`);
    const request = { trigger: 'MANUAL', night: null, requestedBy: 'a test' } as const;
    const requested = await requestRun(platform.dependencies, request);
    await expect
      .poll(async () => (await findRun(platform.dependencies, requested?.id ?? ''))?.problem)
      .toBe('deadlock detected');
    const run = await finished(requested);
    await database.handle.sql.unsafe(
      'DROP TRIGGER fail_once ON submissions; DROP FUNCTION fail_once; DROP SEQUENCE tries',
    );
    expect(await countRun(platform.dependencies, run.id)).toMatchObject({ expired: 1, failed: 0 });
    expect(await stateOf(receipt?.id ?? '')).toMatchObject({ state: 'EXPIRED' });
  });

  it('takes the network’s word where it differs from ours', async () => {
    const [early, marked] = await dueReceipts(2);
    const answering: LedgerNetwork = {
      ...platform.dependencies.network,
      expiryOf: async (addresses) =>
        addresses.map((tokenAddress) =>
          tokenAddress === early?.tokenAddress
            ? { tokenAddress, isExpired: false, status: 'DRAFT' }
            : { tokenAddress, isExpired: true, status: 'EXPIRED' },
        ),
    };
    const { id } = await runOfTest();
    await sweep({ ...platform.dependencies, network: answering }, { id });
    expect(await countRun(platform.dependencies, id)).toMatchObject({ notDue: 1, expired: 1 });
    expect(await stateOf(early?.id ?? '')).toMatchObject({ state: 'ACTIVE' });
    expect(await stateOf(marked?.id ?? '')).toMatchObject({ state: 'EXPIRED', expiredTxHash: null });
    await runOnce();
  });

  it('leaves to another run what that has expired since it was read', async () => {
    const [receipt] = await dueReceipts(1);
    const overtaken: LedgerNetwork = {
      ...platform.dependencies.network,
      expiryOf: async (addresses) => {
        const answers = await network.expiryOf(addresses);
        await runOnce();
        return answers;
      },
    };
    const { id } = await runOfTest();
    await sweep({ ...platform.dependencies, network: overtaken }, { id });
    expect(await countRun(platform.dependencies, id)).toMatchObject({ examined: 0, failed: 0 });
    expect(await stateOf(receipt?.id ?? '')).toMatchObject({ state: 'EXPIRED' });
  });

  it('asks once for a receipt that another sweep of it has decided since it was read', async () => {
    const [receipt] = await dueReceipts(1);
    faults = (_method, _n, call) => (call?.kind === 'markExpired' ? 'refused' : null);
    const { id } = await runOfTest();
    const overtaken: LedgerNetwork = {
      ...platform.dependencies.network,
      expiryOf: async (addresses) => {
        const answers = await network.expiryOf(addresses);
        await sweep(platform.dependencies, { id });
        await finished({ id });
        return answers;
      },
    };
    await sweep({ ...platform.dependencies, network: overtaken }, { id });
    expect(await countRun(platform.dependencies, id)).toMatchObject({ examined: 1, failed: 1 });
    expect(await marksOf(receipt?.id ?? '')).toBe(1);
    faults = () => null;
    await runOnce();
  });

  it('keeps what can not be decided for an operator, and ends all the same', async () => {
    const [receipt] = await dueReceipts(1);
    faults = (method) => (method === 'outcome' ? 'history-gone' : null);
    const run = await runOnce();
    expect(await listFailures(platform.dependencies, run.id)).toMatchObject([
      { receiptId: receipt?.id, message: expect.stringContaining('waits for an operator') as string },
    ]);
    faults = () => null;
    // The mark may have landed, so it is not signed again, but shown until an operator decides.
    const again = await runOnce();
    expect(await countRun(platform.dependencies, again.id)).toMatchObject({ examined: 1, failed: 1 });
    expect(await marksOf(receipt?.id ?? '')).toBe(1);
    const [undecided] = await database.handle.db
      .select({ id: submissions.id })
      .from(submissions)
      .where(eq(submissions.state, 'NEEDS_REVIEW'));
    const decision = { submissionId: undecided?.id ?? '', decision: 'RESUME', reason: 'looked' } as const;
    await decideSubmission(platform.dependencies, 'operator', decision);
    await expect.poll(async () => (await stateOf(receipt?.id ?? ''))?.state).toBe('EXPIRED');
  });

  it('leaves alone what an operator has resumed', async () => {
    const [receipt] = await dueReceipts(1);
    faults = (method) => (method === 'outcome' ? 'history-gone' : null);
    await runOnce();
    faults = (method) => (method === 'outcome' ? 'unreachable' : null);
    const isMark = and(eq(submissions.targetId, receipt?.id ?? ''), eq(submissions.kind, 'markExpired'));
    const [mark] = await database.handle.db.select({ id: submissions.id }).from(submissions).where(isMark);
    const decision = { submissionId: mark?.id ?? '', decision: 'RESUME', reason: 'looked' } as const;
    await decideSubmission(platform.dependencies, 'operator', decision);
    const { id } = await runOfTest();
    await sweep(platform.dependencies, { id });
    expect(await countRun(platform.dependencies, id)).toMatchObject({ examined: 0, failed: 0 });
    expect(await marksOf(receipt?.id ?? '')).toBe(1);
    faults = () => null;
    await expect.poll(async () => (await stateOf(receipt?.id ?? ''))?.state).toBe('EXPIRED');
  });

  it('goes on when the network answers again', async () => {
    const [receipt] = await dueReceipts(1);
    faults = (method) => (method === 'expiryOf' ? 'unreachable' : null);
    const run = await requestRun(platform.dependencies, {
      trigger: 'MANUAL',
      night: null,
      requestedBy: 'a test',
    });
    await expect
      .poll(async () => (await findRun(platform.dependencies, run?.id ?? ''))?.problem)
      .toContain('connection refused');
    faults = () => null;
    expect(await finished(run)).toMatchObject({ problem: null });
    expect(await stateOf(receipt?.id ?? '')).toMatchObject({ state: 'EXPIRED' });
  });

  it('goes on with what a busy node gave no answer about, once it answers', async () => {
    const due = await dueReceipts(3);
    const [unknown] = due;
    const busy: LedgerNetwork = {
      ...platform.dependencies.network,
      expiryOf: async (addresses) =>
        (await network.expiryOf(addresses)).map((answer) =>
          answer.tokenAddress === unknown?.tokenAddress
            ? { tokenAddress: answer.tokenAddress, error: new NetworkUnavailable('429: ask again later') }
            : answer,
        ),
    };
    const { id } = await runOfTest();
    const sweeping = sweep({ ...platform.dependencies, network: busy }, { id });
    await expect(sweeping).rejects.toThrow('no answer about 1 of 3 receipts');
    await sweep({ ...platform.dependencies, network }, { id });
    expect(await finished({ id })).toMatchObject({ problem: null });
    expect(await countRun(platform.dependencies, id)).toMatchObject({ expired: 3, failed: 0 });
  });

  it('ends without an answer that does not come, which is asked for again by the next one', async () => {
    const [receipt] = await dueReceipts(1);
    const silent: LedgerNetwork = {
      ...platform.dependencies.network,
      expiryOf: async (addresses) =>
        addresses.map((tokenAddress) => ({ tokenAddress, error: new NetworkUnavailable('429') })),
    };
    const { id } = await runOfTest();
    await sweep({ ...platform.dependencies, network: silent }, { id, fruitlessSteps: 12 });
    expect(await listFailures(platform.dependencies, id)).toMatchObject([
      { receiptId: receipt?.id, message: '429' },
    ]);
    await runOnce();
    expect(await stateOf(receipt?.id ?? '')).toMatchObject({ state: 'EXPIRED' });
  });

  it('ends without a receipt that the database refuses for transient reasons again and again', async () => {
    const [receipt] = await dueReceipts(1);
    await database.handle.sql.unsafe(`
      CREATE FUNCTION fail_all() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = 'deadlock_detected'; END $$;
      CREATE TRIGGER fail_all BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION fail_all()`);
    const { id } = await runOfTest();
    try {
      await sweep(platform.dependencies, { id, fruitlessSteps: 12 });
    } finally {
      await database.handle.sql.unsafe('DROP TRIGGER fail_all ON submissions; DROP FUNCTION fail_all');
    }
    expect(await findRun(platform.dependencies, id)).toMatchObject({ endedAt: expect.any(Date) });
    const failures = await listFailures(platform.dependencies, id);
    expect(failures).toMatchObject([{ receiptId: receipt?.id, message: 'deadlock detected' }]);
    await runOnce();
  });

  it('reaches all that are due in one second, however many', async () => {
    const isDue: LedgerNetwork['expiryOf'] = async (addresses) =>
      addresses.map((tokenAddress) => ({ tokenAddress, isExpired: true, status: 'DRAFT' }));
    const undo = new Error('undone');
    const counting = database.handle.db.transaction(async (tx) => {
      await insertDueReceipts(tx, 450);
      const shown = new Set<string>();
      const deps = { db: tx as unknown as Db, network: { ...network, expiryOf: isDue } };
      for await (const { receipt } of previewExpiry(deps)) shown.add(receipt.tokenAddress);
      expect([...shown].filter((token) => token.startsWith('same second'))).toHaveLength(450);
      throw undo;
    });
    await expect(counting).rejects.toThrow(undo);
  });

  it('ends with its last items, also when two transactions decide those at once, and not before it has seen all', async () => {
    const due = await dueReceipts(2);
    const { db } = database.handle;
    const { id: runId } = await runOfTest();
    const isOver = async () => (await findRun(platform.dependencies, runId))?.endedAt != null;
    const at = new Date();
    await db.transaction((tx) => finishIfComplete(tx, runId, at));
    expect(await isOver()).toBe(false);

    const items = due.map(({ id }) => ({ runId, receiptId: id, state: 'PENDING' as const }));
    await db.insert(expiryItems).values(items);
    await db.update(expiryRuns).set({ sweptAt: at, dueAt: null }).where(eq(expiryRuns.id, runId));
    const decide = async (tx: Tx, receiptId = '') => {
      const decided = { state: 'FAILED', message: 'a test says so', decidedAt: at } as const;
      await tx
        .update(expiryItems)
        .set(decided)
        .where(and(eq(expiryItems.runId, runId), eq(expiryItems.receiptId, receiptId)));
      await finishIfComplete(tx, runId, at);
    };
    let last = Promise.resolve();
    let isDecided = false;
    await db.transaction(async (tx) => {
      await decide(tx, due[0]?.id);
      last = db.transaction((other) => decide(other, due[1]?.id)).then(() => void (isDecided = true));
      await expect.poll(async () => isDecided || (await hasLockWait(database.handle))).toBe(true);
    });
    await last;
    expect(await isOver()).toBe(true);
    await runOnce();
  });

  it('is only shown by a dry run', async () => {
    const [receipt] = await dueReceipts(1);
    const shown = [];
    for await (const { receipt: due, answer } of previewExpiry(platform.dependencies)) {
      shown.push([due.id, answer]);
    }
    expect(shown).toMatchObject([[receipt?.id, { isExpired: true }]]);
    expect(await stateOf(receipt?.id ?? '')).toMatchObject({ state: 'ACTIVE' });
    await runOnce();
  });
});

describe('several instances', () => {
  it('sweep the same receipts at once, and mark each once', async () => {
    const due = await dueReceipts(20);
    const runs = [await runOfTest(), await runOfTest()] as const;
    await Promise.all([
      sweep(platform.dependencies, runs[0]),
      sweep(second.dependencies, runs[1]),
      // A third sweep continues the first run, as if its instance had died.
      sweep(second.dependencies, runs[0]),
    ]);
    const done = await Promise.all(runs.map(finished));
    const counts = await Promise.all(done.map(({ id }) => countRun(platform.dependencies, id)));
    expect(counts.map(({ expired }) => expired).reduce((a, b) => a + b)).toBe(20);
    for (const { id } of due) {
      expect(await stateOf(id)).toMatchObject({ state: 'EXPIRED' });
      expect(await marksOf(id)).toBe(1);
    }
  });

  it('make one run of one night, however often they wake up', async () => {
    const night = { trigger: 'NIGHTLY', night: '2031-05-06', requestedBy: null } as const;
    const runs = await Promise.all(
      [platform, second, platform, second].map(({ dependencies }) => requestRun(dependencies, night)),
    );
    expect(runs.filter((run) => run !== null)).toHaveLength(1);
    await finished(runs.find((run) => run !== null) ?? null);
  });
});

describe('nights', () => {
  it('are made good at start when they were missed', async () => {
    const [receipt] = await dueReceipts(1);
    const nightly = createNightlyExpiry(platform.dependencies, {
      timeZone: 'UTC',
      readTime: async () => new Date('2032-03-10T14:00:00Z'),
    });
    await nightly.start();
    nightly.stop();
    const page = { limit: 100, inverted: false };
    const runs = await listRuns(platform.dependencies, {}).list(page);
    const made = runs.find(({ night }) => night === '2032-03-10');
    expect(made).toMatchObject({ trigger: 'CATCH_UP' });
    await finished(made ?? null);
    expect(await stateOf(receipt?.id ?? '')).toMatchObject({ state: 'EXPIRED' });

    // After a restart on the same day, that night already has its run.
    await nightly.start();
    nightly.stop();
    expect(await listRuns(platform.dependencies, {}).list(page)).toHaveLength(runs.length);
  });

  it('are not lost by an instance whose clock is ahead of the database’s', async () => {
    // The database's time when the instance's clock has passed two o'clock.
    let now = new Date('2032-04-10T01:59:59.990Z');
    const options = { timeZone: 'UTC', readTime: async () => now, pollMs: 20 };
    const nightly = createNightlyExpiry(platform.dependencies, options);
    await nightly.start();
    now = new Date('2032-04-10T02:00:00.010Z');
    const nights = async () =>
      (await listRuns(platform.dependencies, {}).list({ limit: 100, inverted: false })).map(
        ({ night }) => night,
      );
    await expect.poll(nights).toContain('2032-04-10');
    nightly.stop();
  });

  it('are not lost while the database is away', async () => {
    let isAway = true;
    const refuse = () => {
      throw new Error('the database is away');
    };
    const db = new Proxy(platform.dependencies.db, {
      get: (target, name) => (isAway && name === 'insert' ? refuse : (Reflect.get(target, name) as unknown)),
    });
    const readTime = async () => new Date('2032-05-10T02:00:01Z');
    const nightly = createNightlyExpiry(
      { ...platform.dependencies, db },
      { timeZone: 'UTC', readTime, pollMs: 20 },
    );
    // It keeps no server from its start either.
    await nightly.start();
    isAway = false;
    const nights = async () =>
      (await listRuns(platform.dependencies, {}).list({ limit: 100, inverted: false })).map(
        ({ night }) => night,
      );
    await expect.poll(nights).toContain('2032-05-10');
    nightly.stop();
  });

  it('begin at two o’clock of the configured time zone', () => {
    expect(EXPIRY_CRON).toBe('0 2 * * *');
    expect(latestNight(new Date('2026-03-10T01:59:59Z'), 'UTC')).toBe('2026-03-09');
    expect(latestNight(new Date('2026-03-10T02:00:00Z'), 'UTC')).toBe('2026-03-10');
    expect(latestNight(new Date('2026-03-09T23:00:00Z'), 'Africa/Nairobi')).toBe('2026-03-10');
    expect(latestNight(new Date('2026-03-01T01:00:00Z'), 'UTC')).toBe('2026-02-28');
    // Berlin has no two o'clock on the first night, and two on the second.
    expect(latestNight(new Date('2026-03-29T00:59:00Z'), 'Europe/Berlin')).toBe('2026-03-28');
    expect(latestNight(new Date('2026-03-29T01:00:00Z'), 'Europe/Berlin')).toBe('2026-03-29');
    expect(latestNight(new Date('2026-10-25T00:00:00Z'), 'Europe/Berlin')).toBe('2026-10-25');
    expect(latestNight(new Date('2026-10-25T01:00:00Z'), 'Europe/Berlin')).toBe('2026-10-25');
  });
});
