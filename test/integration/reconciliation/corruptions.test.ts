/**
 * A reconciliation finds each single corruption of a database, made with its rules switched off.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll, type ReconciliationReport } from '../../../src/reconciliation/reconcileAll.ts';
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
    await restorable.corrupt(sql);
    const { findings } = await reconcileAll(platform.dependencies);
    const before = new Set(untouched.findings.map(({ message }) => message));
    const found = findings.filter(({ message }) => !before.has(message));
    expect(found.map((finding) => finding.invariant)).toContain(invariant);
  });
});
