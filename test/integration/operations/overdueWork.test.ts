/**
 * The operators' view of stuck work and of the invariants: in GraphQL, readiness, metrics and the log.
 */
import { randomUUID } from 'node:crypto';
import { isNull, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tx } from '../../../src/db/connection.ts';
import {
  attempts,
  expiryRuns,
  offRampProviderStatuses,
  offRampSessions,
  submissions,
} from '../../../src/db/tables/index.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import { INVARIANTS } from '../../../src/reconciliation/verdicts.ts';
import { reconcileAndKeep } from '../../../src/reconciliation/lastReconciliation.ts';
import { createOverdueWatch, readOpenWork } from '../../../src/resolvers/operations/overdueWork.ts';
import { changePastRules } from '../../support/database/database.ts';
import { developer, mutate, projectInput } from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { depositedCashOut } from '../../support/warehouse.ts';

let market: Marketplace;
/** Makes the network fail before anything is signed. */
let isDown = false;
const operator = { role: 'operator', subject: 'root' } as const;
/** Advances the clock, so that kept readings are read again. */
let aheadMs = 0;
/** The state before any reconciliation. */
let before: readonly Status[];

beforeAll(async () => {
  market = await startMarketplace({
    withIndexer: false,
    mutationWaitMs: 20_000,
    clock: { now: () => new Date(Date.now() + aheadMs) },
    wrapNetwork: (network) => ({
      ...network,
      draft: (call) =>
        isDown
          ? Promise.reject(new NetworkUnavailable('the node restarts\nURL: https://node.example/its-key'))
          : network.draft(call),
    }),
  });
  before = await readInvariants();
});
afterAll(() => market.stop());

async function ask<T>(query: string): Promise<T> {
  const { data, errors } = await market.send<T>(query, {}, operator);
  if (data === null) throw new Error(JSON.stringify(errors));
  return data;
}

interface Status {
  invariant: string;
  promise: string;
  verdict: string;
  findings: { invariant: string; message: string }[];
  notProved: { obstacle: string; message: string }[];
  agreedAt: string | null;
  comparedAt: string | null;
  fullyComparedAt: string | null;
}
const readInvariants = async () =>
  (
    await ask<{ invariants: Status[] }>(
      `{ invariants { invariant promise verdict findings { invariant message } notProved { obstacle message }
        agreedAt comparedAt fullyComparedAt } }`,
    )
  ).invariants;

const site = () => market.url.replace('/graphql', '');
async function metrics(): Promise<Map<string, number>> {
  aheadMs += 6_000;
  const text = await (await fetch(`${site()}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}
async function checks(): Promise<Record<string, string>> {
  aheadMs += 6_000;
  const answer = await fetch(`${site()}/readyz`);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { checks: Record<string, string> }).checks;
}
async function logLines(): Promise<string[]> {
  const lines: string[] = [];
  const write = (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg);
  const log = createLogger({ level: 'warn', pretty: false }, { write });
  await createOverdueWatch({ ...market.app.dependencies, log }).poll();
  return lines;
}

describe('a stuck submission', () => {
  const listed = async (filter: string) =>
    (
      await ask<{ submissions: { nodes: { stateReason: string | null; dueAt: string | null }[] } }>(
        `{ submissions(first: 5, filter: { ${filter} }) { nodes { stateReason dueAt createdAt } } }`,
      )
    ).submissions.nodes;

  it('shows why, since when and when it is tried next, without the secrets of an address', async () => {
    expect(await listed('stuck: true')).toEqual([]);
    isDown = true;
    const creating = mutate(
      market,
      ['createProject', 'CreateProjectInput', 'tokenAddress'],
      projectInput(),
      developer,
    );
    await expect
      .poll(() => listed('states: [PENDING]'), { timeout: 30_000 })
      .toEqual([
        expect.objectContaining({ stateReason: 'the node restarts', dueAt: expect.anything() as unknown }),
      ]);
    // The submission is young: the node may be back in a moment.
    expect(await listed('stuck: true')).toEqual([]);
    await changePastRules(
      market.database,
      sql`UPDATE ${submissions} SET created_at = created_at - interval '2 minutes' WHERE state = 'PENDING'`,
    );
    expect(await listed('stuck: true')).toHaveLength(1);
    expect(await listed('stuck: false')).toEqual([]);
    expect((await checks())['submissions']).toMatch(/^1 stuck, the oldest since 20\d\d-/);
    const values = await metrics();
    expect(values.get('marketplace_submissions{state="PENDING"}')).toBe(1);
    expect(values.get('marketplace_submissions_stuck')).toBe(1);
    expect(await logLines()).toEqual([expect.stringContaining('submissions are stuck')]);

    isDown = false;
    expect((await creating).errors).toEqual([]);
    // What has ended is not stuck, however old it is.
    await changePastRules(
      market.database,
      sql`UPDATE ${submissions} SET created_at = created_at - interval '1 hour'`,
    );
    expect(await listed('stuck: true')).toEqual([]);
    expect((await checks())['submissions']).toBeUndefined();
    expect(await logLines()).toEqual([]);
  });

  /** How many are stuck after these hours with such a submission alone. */
  const stuckAs = (
    kind: 'retire' | 'markExpired',
    signer: 'CUSTODY' | 'HOLDER',
    {
      hours,
      reason = null,
      signedHours,
      attempt = {},
    }: {
      hours: number;
      reason?: string | null;
      signedHours?: number;
      attempt?: Partial<typeof attempts.$inferInsert>;
    },
  ) =>
    undone(async (tx) => {
      const at = new Date(Date.now() - hours * 3_600_000);
      const id = randomUUID();
      const values = { id, kind, targetType: 'HOLDER_ACT', targetId: id, signer, call: {} } as const;
      await tx
        .insert(submissions)
        .values({ ...values, state: 'PENDING', stateReason: reason, dueAt: at, createdAt: at });
      if (signedHours !== undefined) {
        const createdAt = new Date(Date.now() - signedHours * 3_600_000);
        const bytes = { signedBytes: new Uint8Array([1]), preparedAtLedger: 1n };
        const open = { hash: id, submissionId: id, number: 1, state: 'OPEN', source: 'a' } as const;
        await tx.insert(attempts).values({ ...open, ...bytes, createdAt, ...attempt });
      }
      return (await readOpenWork(tx)).stuckSubmissions;
    });

  it('of a holder is one whose steps fail; a transaction of theirs may wait as long as they like', async () => {
    expect(await stuckAs('retire', 'HOLDER', { hours: 1 })).toBe(0);
    expect(await stuckAs('retire', 'HOLDER', { hours: 1, reason: 'the node is gone' })).toBe(1);
  });

  it('is an expiry that waits for a day or fails; a night of them may take hours', async () => {
    expect(await stuckAs('retire', 'CUSTODY', { hours: 1 })).toBe(1);
    expect(await stuckAs('markExpired', 'CUSTODY', { hours: 1 })).toBe(0);
    expect(await stuckAs('markExpired', 'CUSTODY', { hours: 1, reason: 'the node is gone' })).toBe(1);
    expect(await stuckAs('markExpired', 'CUSTODY', { hours: 25 })).toBe(1);
  });

  it('is an expiry that is signed and does not land, as every other', async () => {
    expect(await stuckAs('markExpired', 'CUSTODY', { hours: 2, signedHours: 1 })).toBe(1);
    expect(await stuckAs('markExpired', 'CUSTODY', { hours: 2, signedHours: 0.1 })).toBe(0);
    const dead = { state: 'DEAD', decidedAt: new Date(), evidence: 'it has expired' } as const;
    for (const attempt of [dead, { submissionId: randomUUID() }])
      expect(await stuckAs('markExpired', 'CUSTODY', { hours: 2, signedHours: 1, attempt })).toBe(0);
  });
});

/** Runs `work` on states that are rolled back, so that no worker acts on them. */
async function undone(work: (tx: Tx) => Promise<number>): Promise<number> {
  const undo = new Error('undone');
  let count = -1;
  await market.database.handle.db
    .transaction(async (tx) => {
      await tx.execute(sql`SET LOCAL session_replication_role = replica`);
      count = await work(tx);
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return count;
}

describe('an overdue session', () => {
  it('is listed, counted and logged, in each state by its own deadline', async () => {
    const { id } = await depositedCashOut(market.app);
    const listed = async (overdue: boolean) =>
      (
        await ask<{ offRampSessions: { totalCount: number } }>(
          `{ offRampSessions(filter: { overdue: ${overdue} }) { totalCount } }`,
        )
      ).offRampSessions.totalCount;
    expect([await listed(true), await listed(false)]).toEqual([0, 1]);
    await changePastRules(
      market.database,
      sql`UPDATE ${offRampSessions} SET deposited_at = deposited_at - interval '97 hours' WHERE id = ${id}`,
    );
    expect([await listed(true), await listed(false)]).toEqual([1, 0]);
    expect((await checks())['offRampSessions']).toMatch(/^1 overdue, the oldest since 20\d\d-/);
    const values = await metrics();
    expect(values.get('marketplace_off_ramp_sessions{state="AWAITING_PAYOUT"}')).toBe(1);
    expect(values.get('marketplace_off_ramp_sessions_overdue')).toBe(1);
    expect(await logLines()).toEqual([expect.stringContaining('off-ramp sessions are overdue')]);

    const overdueAs = (values: string, statusesFrom?: 'long ago') =>
      undone(async (tx) => {
        if (statusesFrom !== undefined) {
          await tx.execute(
            sql`UPDATE ${offRampProviderStatuses} SET observed_at = now() - interval '2 hours'`,
          );
          // Of another session.
          const other = { offRampSessionId: randomUUID(), number: 1, status: 'failed' } as const;
          await tx.insert(offRampProviderStatuses).values({ ...other, observedAt: sql`now()` });
        }
        await tx.execute(sql`UPDATE ${offRampSessions} SET ${sql.raw(values)} WHERE id = ${id}`);
        return (await readOpenWork(tx)).overdueSessions;
      });
    const unpaid = `deposited_at = NULL, depositor = 'HOLDER', quote_expires_at = now() - interval '3 hours'`;
    const counts = [
      await overdueAs(
        `state = 'AWAITING_SIGNATURE', ${unpaid}, signature_due_at = now() + interval '1 minute'`,
      ),
      await overdueAs(
        `state = 'AWAITING_SIGNATURE', ${unpaid}, signature_due_at = now() - interval '2 hours'`,
      ),
      await overdueAs(
        `state = 'OPENING', deposited_at = NULL, quote_expires_at = now() - interval '30 minutes'`,
      ),
      await overdueAs(
        `state = 'OPENING', deposited_at = NULL, quote_expires_at = now() - interval '2 hours'`,
      ),
      await overdueAs(
        `state = 'REFUNDING', resolution = 'REFUND', deposited_at = now() - interval '2 hours'`,
      ),
      await overdueAs(`state = 'NEEDS_REVIEW'`),
    ];
    // Refunding began when the provider's status was observed, a moment ago.
    expect(counts).toEqual([0, 1, 0, 1, 0, 0]);
    for (const state of ['DEPOSITING', 'CLOSING']) {
      const overdue = `state = '${state}', deposited_at = NULL, quote_expires_at = now() - interval '2 hours'`;
      expect(await overdueAs(overdue), state).toBe(1);
    }
    for (const [state, resolution] of [
      ['CONFIRMING', 'SETTLE'],
      ['REFUNDING', 'REFUND'],
    ]) {
      const releasing = `state = '${state}', resolution = '${resolution}', deposited_at = now()`;
      expect(await overdueAs(`${releasing} - interval '2 hours'`, 'long ago'), state).toBe(1);
      // A late deposit is given back for the status that came before it.
      expect(await overdueAs(releasing, 'long ago'), state).toBe(0);
    }
  });
});

describe('an expiry run', () => {
  it('that has not got through for an hour is counted and logged', async () => {
    const { db } = market.database.handle;
    const dueAt = new Date(Date.now() + 300_000);
    const begun = (night: string, minutesAgo: number) => ({
      id: randomUUID(),
      trigger: 'NIGHTLY' as const,
      night,
      startedAt: sql`now() - make_interval(mins => ${minutesAgo})`,
      dueAt,
    });
    await db.insert(expiryRuns).values(begun('2026-01-01', 59));
    expect((await readOpenWork(db)).overdueExpiryRuns).toBe(0);
    await db.insert(expiryRuns).values(begun('2026-01-02', 61));
    expect((await checks())['expiryRuns']).toMatch(/^1 overdue, the oldest since 20\d\d-/);
    expect((await metrics()).get('marketplace_expiry_runs_overdue')).toBe(1);
    expect(await ask('{ openWork { overdueExpiryRunCount } }')).toEqual({
      openWork: { overdueExpiryRunCount: 1 },
    });
    expect(await logLines()).toContainEqual(expect.stringContaining('receipts do not expire'));

    await db
      .update(expiryRuns)
      .set({ sweptAt: sql`now()`, dueAt: null })
      .where(isNull(expiryRuns.sweptAt));
    expect((await checks())['expiryRuns']).toBeUndefined();
  });
});

describe('the invariants', () => {
  it('are not proved before the first reconciliation, then what it says', async () => {
    const names = Object.keys(INVARIANTS);
    expect(before.map(({ invariant }) => invariant)).toEqual(names);
    expect(before[0]).toEqual({
      invariant: 'I1',
      promise: INVARIANTS.I1,
      verdict: 'NOT_PROVED',
      findings: [],
      notProved: [{ obstacle: 'LEFT_OUT', message: 'No reconciliation has compared it yet.' }],
      agreedAt: null,
      comparedAt: null,
      fullyComparedAt: null,
    });
    await reconcileAndKeep(market.app.dependencies, { isFull: true });
    const after = await readInvariants();
    expect(after.find(({ invariant }) => invariant === 'I2')).toMatchObject({
      verdict: 'HOLDS',
      findings: [],
      comparedAt: expect.anything() as unknown,
      fullyComparedAt: expect.anything() as unknown,
    });
    const values = await metrics();
    expect(values.get('marketplace_invariant{invariant="I2",verdict="HOLDS"}')).toBe(1);
    expect(values.get('marketplace_invariant{invariant="I2",verdict="BROKEN"}')).toBe(0);
    expect(values.get('marketplace_invariant_compared_timestamp_seconds{invariant="I2"}')).toBeGreaterThan(
      1e9,
    );
  });

  it('are shown with their findings when they are broken', async () => {
    await changePastRules(
      market.database,
      sql`UPDATE ${offRampSessions} SET fiat_amount = fiat_amount + 1, deposited_at = deposited_at + interval '97 hours'`,
    );
    await reconcileAndKeep(market.app.dependencies, { isFull: true });
    const broken = (await readInvariants()).filter(({ verdict }) => verdict === 'BROKEN');
    expect(broken.map(({ invariant }) => invariant)).toContain('I13');
    for (const { invariant, findings } of broken) {
      expect(new Set(findings.map((finding) => finding.invariant))).toEqual(new Set([invariant]));
    }
    const values = await metrics();
    expect(values.get('marketplace_invariant{invariant="I13",verdict="BROKEN"}')).toBe(1);
    expect(values.get('marketplace_invariant{invariant="I13",verdict="HOLDS"}')).toBe(0);
  });
});

describe('metrics', () => {
  it('count operations by transport and outcome, and what the instance has open', async () => {
    const name = 'marketplace_operations_total{transport="http",type="query",outcome="OK"}';
    const counted = (await metrics()).get(name) ?? 0;
    await ask('{ viewer { subject } }');
    await market.send('{ submissions(first: 1) { totalCount } }');
    await expect
      .poll(async () => {
        const values = await metrics();
        return [
          (values.get(name) ?? 0) - counted,
          values.get('marketplace_operations_total{transport="http",type="query",outcome="UNAUTHENTICATED"}'),
        ];
      })
      .toEqual([1, 1]);
    const values = await metrics();
    expect(
      values.get('marketplace_operation_duration_seconds_count{transport="http",type="query"}'),
    ).toBeGreaterThan(counted);
    expect(values.get('marketplace_database_connections{state="idle"}')).toBeGreaterThan(0);
    expect(values.get('marketplace_signing_halted')).toBe(0);
    expect(values.get('process_cpu_seconds_total')).toBeGreaterThan(0);
  });
});
