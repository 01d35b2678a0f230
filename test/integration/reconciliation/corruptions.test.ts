/**
 * A reconciliation finds each single corruption of a database, made without the database's rules. An
 * incremental reconciliation does so too, unless the corruption leaves no changed row.
 */
import { randomUUID } from 'node:crypto';
import { isNotNull, sql } from 'drizzle-orm';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CHANGING_TABLES, readSnapshot } from '../../../src/reconciliation/excerpt.ts';
import {
  reconcileAll,
  reconcileChanged,
  type ReconciliationReport,
} from '../../../src/reconciliation/reconcileAll.ts';
import { type LOG_NAMES, projects, transparencyHeads } from '../../../src/db/tables/index.ts';
import { findUnlogged } from '../../../src/reconciliation/reconcileLogs.ts';
import { createBooks } from '../../../src/ledger/books/books.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { createLogKey, parseCheckpoint, type SignedNote } from '../../../src/transparency/checkpoint.ts';
import { createTransparencyLogs } from '../../../src/transparency/logs.ts';
import { CURRENT_DATABASE } from '../../../src/db/currentDatabase.ts';
import {
  BOOKS_CORRUPTIONS,
  CASH_OUT_CORRUPTIONS,
  CREDIT_CORRUPTIONS,
  FEED_CORRUPTIONS,
  HISTORY_CORRUPTIONS,
  SUBMISSION_CORRUPTIONS,
  type Corruption,
} from '../../support/reconciliation/corruptions.ts';
import {
  CREDIT_TRANSFER_CORRUPTIONS,
  PRICE_CORRUPTIONS,
} from '../../support/reconciliation/carbonCorruptions.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, logsAnewOn, platformOn } from '../../support/platform.ts';
import {
  LAST_PURCHASE,
  TRANSPARENCY_CORRUPTIONS,
} from '../../support/reconciliation/transparencyCorruptions.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';
import { makeRestorable, type Restorable } from '../../support/restorable.ts';
import { createRichHistory } from '../../support/reconciliation/richHistory.ts';

let history: TestDatabase;
let database: TestDatabase;
let platform: Platform;
let restorable: Restorable;
let untouched: ReconciliationReport;

beforeAll(async () => {
  history = await createRichHistory();
  database = await createTestDatabase({ copyOf: history });
  platform = await platformOn(database.handle, await embeddedNetworkOn(database.handle));
  await buyOnce();
  await logAll(platform.dependencies.logs);
  untouched = await reconcileAll(platform.dependencies);
  restorable = await makeRestorable(database);
}, 120_000);
afterEach(async () => {
  await restorable.restore();
  platform.dependencies.logs = logsAnewOn(database.handle, platform.dependencies.network);
});
afterAll(async () => {
  const restored = await reconcileAll(platform.dependencies);
  await restorable.close();
  await platform.stop();
  await Promise.all([database.drop(), history.drop()]);
  expect(restored).toEqual(untouched);
});

describe('the history by itself', () => {
  it('has one finding, and is not proved where something is under review', () => {
    // The credits that custody gave to a holder outside the product.
    expect(untouched.findings.map(({ invariant }) => invariant)).toEqual(['I2']);
    const open = untouched.verdicts.filter(({ verdict }) => verdict !== 'HOLDS');
    expect(open).toMatchObject([{ invariant: 'I2', verdict: 'BROKEN' }]);
    expect(untouched.notProved).toMatchObject([{ invariant: 'I2', obstacle: 'UNDER_REVIEW' }]);
    expect(untouched.unsettledProjects).toBe(1);
  });
});

describe.each([
  ['books', BOOKS_CORRUPTIONS],
  ['purchases and retirements', CREDIT_CORRUPTIONS],
  ['credit transfers', CREDIT_TRANSFER_CORRUPTIONS],
  ['prices', PRICE_CORRUPTIONS],
  ['submissions', SUBMISSION_CORRUPTIONS],
  ['feed', FEED_CORRUPTIONS],
  ['cash-outs and receipts', CASH_OUT_CORRUPTIONS],
  ['keys and audit log', HISTORY_CORRUPTIONS],
  ['transparency logs', TRANSPARENCY_CORRUPTIONS],
] as const)('%s', (_subject, corruptions: readonly Corruption[]) => {
  it.each(corruptions)('$name', async ({ invariant, sql, isDeletion = isDeletionAlone(sql), isHidden }) => {
    const snapshot = await readSnapshot(platform.dependencies.db);
    await restorable.corrupt(sql);
    if (!isDeletion) {
      const incremental = await reconcileChanged(platform.dependencies, snapshot);
      expect(newIn(incremental)).not.toEqual([]);
    }
    const full = await reconcileAll(platform.dependencies);
    expect(newIn(full)).toContain(invariant);
    if (isHidden) expect(new Set(newIn(full))).toEqual(new Set([invariant]));
  });
});

it('finds a second mint under way of a minted project, where the unique key that refuses it is lost', async () => {
  const { db } = platform.dependencies;
  const [key] = await db.execute<{ definition: string }>(
    `SELECT pg_get_indexdef('submissions_intent'::regclass) AS definition`,
  );
  const snapshot = await readSnapshot(db);
  await restorable.touch('DROP INDEX submissions_intent');
  try {
    await restorable.corrupt(`INSERT INTO submissions SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(),
        'state', 'PENDING', 'tx_hash', NULL, 'result', NULL, 'settled_at', NULL))).* FROM submissions s
      WHERE kind = 'mint' AND target_type = 'PROJECT' AND state = 'SUCCEEDED' LIMIT 1`);
    expect(newIn(await reconcileChanged(platform.dependencies, snapshot))).toContain('I12');
    expect(newIn(await reconcileAll(platform.dependencies))).toContain('I12');
  } finally {
    await restorable.restore();
    await restorable.touch(key?.definition ?? '');
  }
});

it('says of entries of the audit log that their process is missing', async () => {
  const forged = HISTORY_CORRUPTIONS.find(({ name }) => name.endsWith('of a process that is missing'));
  const snapshot = await readSnapshot(platform.dependencies.db);
  await restorable.corrupt(forged?.sql ?? '');
  const messages = [
    ...((await reconcileChanged(platform.dependencies, snapshot))?.findings ?? []),
    ...(await reconcileAll(platform.dependencies)).findings,
  ].map(({ message }) => message);
  expect(messages).toContainEqual(
    expect.stringMatching(/^entry \S+ of .* is number 1 of process \S+, which is missing$/),
  );
  expect(messages).toContainEqual(
    expect.stringMatching(/^process \S+ wrote 0 entries .*, 0 are pruned, and 1 are there/),
  );
});

function newIn(report: ReconciliationReport | null): string[] {
  const before = new Set(untouched.findings.map(({ message }) => message));
  return (report?.findings ?? []).flatMap(({ invariant, message }) =>
    before.has(message) ? [] : [invariant],
  );
}

/** Only rows that refer to a deleted row show that it existed. */
function isDeletionAlone(sql: string): boolean {
  return sql.split(';').every((statement) => /^\s*(DELETE|$)/.test(statement));
}

describe('an incremental run', () => {
  it('finds nothing where nothing changed, and names what is under way all the same', async () => {
    const snapshot = await readSnapshot(platform.dependencies.db);
    const report = await reconcileChanged(platform.dependencies, snapshot);
    expect(newIn(report)).toEqual([]);
    expect(report?.notProved).toMatchObject([{ invariant: 'I2', obstacle: 'UNDER_REVIEW' }]);
  });

  it('looks up all that a changed row belongs to: no table’s rows alone contradict what did not change', async () => {
    for (const name of CHANGING_TABLES) {
      const snapshot = await readSnapshot(platform.dependencies.db);
      const [column] = await platform.dependencies.db.execute<{ name: string }>(
        `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${name}'::regclass AND attnum > 0 AND attidentity = '' ORDER BY attnum DESC LIMIT 1`,
      );
      await restorable.touch(`UPDATE ${name} SET ${column?.name} = ${column?.name}`);
      const report = await reconcileChanged(platform.dependencies, snapshot);
      expect({ name, found: newIn(report) }).toEqual({ name, found: [] });
    }
  });

  it('compares nothing from a snapshot of another database, or from one in the future', async () => {
    const { db } = platform.dependencies;
    const snapshot = await readSnapshot(db);
    expect(await reconcileChanged(platform.dependencies, { ...snapshot, database: '1/1' })).toBeNull();
    const transaction = String(BigInt(snapshot.transaction) + 1_000_000n);
    expect(await reconcileChanged(platform.dependencies, { ...snapshot, transaction })).toBeNull();
  });
});

/** Makes a purchase that nothing follows. */
async function buyOnce(dependencies = platform.dependencies): Promise<void> {
  const { db } = database.handle;
  const [project] = await db
    .select()
    .from(projects)
    .where(isNotNull(projects.tokenAddress))
    .orderBy(projects.id);
  const input = { buyerId: 'initech', tokenAddress: project?.tokenAddress ?? '', amountCO2e: 3n };
  await purchase(dependencies, 'initech', { ...input, idempotencyKey: randomUUID() });
}

describe('the transparency logs', () => {
  it('have a leaf for each record and transfer, and one or two for each audit entry', async () => {
    const { db } = database.handle;
    const [rows] = await db.execute<Record<string, number>>(sql`
      SELECT (SELECT count(*)::int FROM retirement_records) AS retirements, (SELECT count(*)::int FROM transfers) AS transfers,
        (SELECT count(*)::int FROM audit_entries) AS audit`);
    expect((await noteOf('retirements')).size).toBe(rows?.['retirements']);
    expect((await noteOf('transfers')).size).toBe(rows?.['transfers']);
    expect(rows?.['retirements']).toBeGreaterThan(5);
    expect((await noteOf('audit')).size).toBeGreaterThanOrEqual(rows?.['audit'] ?? Infinity);
  });

  it('are not late with what an instance with a slow clock has just dated an hour ago', async () => {
    const { dependencies } = platform;
    const clock = { now: () => new Date(Date.now() - 3_600_000) };
    const books = createBooks({ handle: database.handle, clock, ids: dependencies.ids });
    const late = async () => (await findUnlogged(dependencies)).notProved;
    const setHead = (updatedAt: string) =>
      restorable.corrupt(`UPDATE transparency_heads SET updated_at = ${updatedAt} WHERE log = 'transfers'`);
    await setHead('now()');
    await buyOnce({ ...dependencies, books });
    expect(await late()).toEqual([]);
    await setHead(`now() - interval '2 minutes'`);
    expect(await late()).toMatchObject([
      { invariant: 'I15', obstacle: 'UNDER_WAY', message: expect.stringContaining('1 transfers') as string },
    ]);
  });

  it('are found rewritten by a key that is not ours, which the server appends nothing to', async () => {
    const seed = new Uint8Array(32);
    const origin = { first: 'forged.example/logs' };
    const { networkId } = platform.dependencies.network;
    await rewrite(createTransparencyLogs({ db: database.handle.db, seed, origin, networkId }));
    const found = findingsOfLogs(await reconcileAll(platform.dependencies));
    expect(found).toContain(
      'the newest checkpoint of the transparency log of retirements is not signed with the key of this installation',
    );
    await buyOnce();
    const { logs } = platform.dependencies;
    await expect
      .poll(() => logs.catchUp().catch((error: Error) => error.message))
      .toMatch(/transfers is not signed with the key/);
  });

  it('grow on beside one that is damaged, which is the only finding', async () => {
    const { logs } = platform.dependencies;
    await restorable.corrupt(`UPDATE transparency_heads SET size = size - 1 WHERE log = 'retirements'`);
    await buyOnce();
    // Each check reads the heads before building: from then on the platform knows the head as it was signed.
    await logs.findBehind();
    const caughtUp = () => logs.catchUp().catch((error: Error) => error.message);
    await expect
      .poll(async () => [await caughtUp(), await logs.findBehind()])
      .toEqual([expect.stringMatching(/retirements is not signed with the key/), ['retirements']]);
    const report = await reconcileAll(platform.dependencies);
    expect(findingsOfLogs(report)).not.toEqual([]);
    expect(findingsOfLogs(report).filter((message) => !message.includes('retirements'))).toEqual([]);
  });

  it('are found rewritten with our own key, by a checkpoint from outside alone', async () => {
    const kept = await noteOf('retirements');
    await rewrite(platform.dependencies.logs);
    expect(findingsOfLogs(await reconcileAll(platform.dependencies))).toEqual([]);
    expect(findingsOfLogs(await reconcileAll({ ...platform.dependencies, keptCheckpoints: [kept] }))).toEqual(
      [
        `the transparency log of retirements was rewritten: the checkpoint that was given, of ${kept.size} leaves, has another root`,
      ],
    );
  });

  it('are found shorter than a checkpoint from outside, if that is ours', async () => {
    const kept = await noteOf('transfers');
    const forger = createLogKey(new Uint8Array(32));
    const forged = parseCheckpoint(forger.signCheckpoint({ ...kept, size: kept.size + 1 })) as SignedNote;
    const keptCheckpoints = [kept, forged];
    expect(findingsOfLogs(await reconcileAll({ ...platform.dependencies, keptCheckpoints }))).toEqual([
      'the checkpoint that was given of the transparency log of transfers is not signed with the key of this installation',
    ]);
    await restorable.corrupt(`${FORGET_LOGS}; DELETE FROM transfers WHERE id = ${LAST_PURCHASE}`);
    await logAll(platform.dependencies.logs);
    expect(findingsOfLogs(await reconcileAll({ ...platform.dependencies, keptCheckpoints: [kept] }))).toEqual(
      [
        `the checkpoint that was given of the transparency log of transfers has ${kept.size} leaves, and the log ${kept.size - 1}`,
      ],
    );
  });
});

describe('a copy of the database', () => {
  it.each([
    ['another cluster', async () => '1/1'],
    ['another database of the same one', () => identityOf('postgres')],
  ])(
    'goes on with the log of %s: with what was not logged yet, and with nothing twice',
    async (_, origin) => {
      const { db } = database.handle;
      const { logs } = platform.dependencies;
      const before = await noteOf('transfers');
      await buyOnce();
      // The restore writes the rows anew, so they name other transactions; here, future ones.
      await restorable.corrupt(`UPDATE transfers SET written_in = pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 40;
      UPDATE transparency_heads SET database = '${await origin()}' WHERE log = 'transfers'`);
      await logAll(logs);
      expect((await noteOf('transfers')).size).toBe(before.size + 1);
      for (let i = 0; i < 50; i++) await db.execute(sql`SELECT pg_current_xact_id()`);
      await buyOnce();
      await logAll(logs);
      expect((await noteOf('transfers')).size).toBe(before.size + 2);
      const report = await reconcileAll({ ...platform.dependencies, keptCheckpoints: [before] });
      expect(findingsOfLogs(report)).toEqual([]);
      // A forgery among the restored rows is still found.
      await restorable.corrupt(
        `UPDATE transfers SET created_at = created_at + interval '1 s' WHERE kind = 'issue'`,
      );
      expect(findingsOfLogs(await reconcileAll(platform.dependencies))).not.toEqual([]);
    },
  );

  it('is not proved to agree with the log while an open transaction keeps them from being compared', async () => {
    const { db } = database.handle;
    const notProved = await db.transaction(async (tx) => {
      await tx.execute(sql`SELECT pg_current_xact_id()`);
      await restorable.corrupt(`UPDATE transfers SET written_in = written_in;
        UPDATE transparency_heads SET database = '1/1' WHERE log = 'transfers'`);
      return (await reconcileAll(platform.dependencies)).notProved;
    });
    expect(notProved).toContainEqual({
      invariant: 'I15',
      obstacle: 'LEFT_OUT',
      message: expect.stringContaining('were not compared with their transparency log'),
    });
    await logAll(platform.dependencies.logs);
    expect((await reconcileAll(platform.dependencies)).notProved).toEqual(untouched.notProved);
  });
});

/** Deletes all logs except the audit log, whose pruned entries would be missing in a new one. */
const FORGET_LOGS = ['transparency_tiles', 'transparency_heads', 'transparency_checkpoints']
  .map((table) => `DELETE FROM ${table} WHERE log <> 'audit'`)
  .join('; ');

/** Rewrites history like an administrator of the database who also has the program. */
async function rewrite(logs: Platform['dependencies']['logs']): Promise<void> {
  await restorable.corrupt(
    `UPDATE retirement_records SET note = 'forged' WHERE position = 1; ${FORGET_LOGS}`,
  );
  await logAll(logs);
}

/** The name that the heads of a log give to a database of this server. */
async function identityOf(name: string): Promise<string> {
  const other = postgres(Object.assign(new URL(database.url), { pathname: name }).href, { max: 1 });
  const [row] = await other.unsafe<{ identity: string }[]>(`SELECT ${CURRENT_DATABASE} AS identity`);
  await other.end();
  if (!row) throw new Error('a query of values has one row');
  return row.identity;
}

async function noteOf(log: (typeof LOG_NAMES)[number]): Promise<SignedNote> {
  const rows = await database.handle.db.select().from(transparencyHeads);
  const note = parseCheckpoint(rows.find((row) => row.log === log)?.checkpoint ?? '');
  if (note === null) throw new Error('the head is no checkpoint');
  return note;
}

function findingsOfLogs(report: ReconciliationReport): string[] {
  return report.findings.flatMap(({ invariant, message }) => (invariant === 'I15' ? [message] : []));
}
