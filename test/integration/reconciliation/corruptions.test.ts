/**
 * A reconciliation finds each single corruption of a database, made with its rules switched off; an incremental one does
 * too, unless the corruption leaves no changed row behind.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CHANGING_TABLES, readPosition } from '../../../src/reconciliation/excerpt.ts';
import {
  reconcileAll,
  reconcileChanged,
  type ReconciliationReport,
} from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
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
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
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
  untouched = await reconcileAll(platform.dependencies);
  restorable = await makeRestorable(database);
}, 120_000);
afterEach(() => restorable.restore());
afterAll(async () => {
  const restored = await reconcileAll(platform.dependencies);
  await restorable.close();
  await platform.stop();
  await Promise.all([database.drop(), history.drop()]);
  expect(restored).toEqual(untouched);
});

describe('the history by itself', () => {
  it('has one finding, and is not proved where something is under review', () => {
    // What custody gave to a holder past the product.
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
] as const)('%s', (_subject, corruptions: readonly Corruption[]) => {
  it.each(corruptions)('$name', async ({ invariant, sql }) => {
    const position = await readPosition(platform.dependencies.db);
    await restorable.corrupt(sql);
    const incremental = await reconcileChanged(platform.dependencies, position);
    const full = await reconcileAll(platform.dependencies);
    expect(newIn(full)).toContain(invariant);
    if (!isDeletion(sql)) expect(newIn(incremental)).not.toEqual([]);
  });
});

function newIn(report: ReconciliationReport | null): string[] {
  const before = new Set(untouched.findings.map(({ message }) => message));
  return (report?.findings ?? []).flatMap(({ invariant, message }) =>
    before.has(message) ? [] : [invariant],
  );
}

/** Nothing shows that a deleted row was there, but what still names it. */
function isDeletion(sql: string): boolean {
  return sql.split(';').every((statement) => /^\s*(DELETE|$)/.test(statement));
}

describe('an incremental run', () => {
  it('finds nothing where nothing changed, and names what is under way all the same', async () => {
    const position = await readPosition(platform.dependencies.db);
    const report = await reconcileChanged(platform.dependencies, position);
    expect(newIn(report)).toEqual([]);
    expect(report?.notProved).toMatchObject([{ invariant: 'I2', obstacle: 'UNDER_REVIEW' }]);
  });

  it('looks up all that a changed row belongs to: no table’s rows alone contradict what did not change', async () => {
    for (const name of CHANGING_TABLES) {
      const position = await readPosition(platform.dependencies.db);
      const [column] = await platform.dependencies.db.execute<{ name: string }>(
        `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${name}'::regclass AND attnum > 0 AND attidentity = '' ORDER BY attnum DESC LIMIT 1`,
      );
      await restorable.touch(`UPDATE ${name} SET ${column?.name} = ${column?.name}`);
      const report = await reconcileChanged(platform.dependencies, position);
      expect({ name, found: newIn(report) }).toEqual({ name, found: [] });
    }
  });

  it('compares nothing from a position of another cluster, or from one in the future', async () => {
    const { db } = platform.dependencies;
    const position = await readPosition(db);
    expect(await reconcileChanged(platform.dependencies, { ...position, cluster: '1' })).toBeNull();
    const transaction = String(BigInt(position.transaction) + 1_000_000n);
    expect(await reconcileChanged(platform.dependencies, { ...position, transaction })).toBeNull();
  });
});
