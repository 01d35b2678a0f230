/**
 * The token of a receipt whose mint has not succeeded: nothing of it is minted, unless the mint is under way or
 * under review.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { requireById } from '../../../src/db/findByIds.ts';
import { receipts } from '../../../src/db/tables/index.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { readSnapshot } from '../../../src/reconciliation/excerpt.ts';
import { reconcileChanged } from '../../../src/reconciliation/reconcileAll.ts';
import { reconcileReceipts } from '../../../src/reconciliation/reconcileReceipts.ts';
import type { Comparison } from '../../../src/reconciliation/verdicts.ts';
import { createDeposit } from '../../../src/resolvers/warehouse/createDeposit.ts';
import type { Receipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { changePastRules, type TestDatabase } from '../../support/database/database.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import type { Fault, FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import { depositInput } from '../../support/warehouse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let faults: FaultPlan = () => null;
let refused: Receipt;
let pending: Receipt;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform((...call) => faults(...call)));
  const deposited = async (fault: Fault, state: Receipt['state']) => {
    faults = (_method, _n, call) => (call?.kind === 'mint' ? fault : null);
    const dependencies = { ...platform.dependencies, mutationWaitMs: 0 };
    const { id } = await createDeposit(dependencies, 'warehouse-1', depositInput(platform));
    const read = () => requireById(database.handle.db, receipts, id);
    await vi.waitUntil(async () => (await read()).state === state, { timeout: 30_000 });
    return read();
  };
  refused = await deposited('refused', 'NEEDS_REVIEW');
  pending = await deposited('unreachable', 'MINTING');
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

/** @param minted base units of both tokens on the network */
function compare(minted: bigint, { isStill = false } = {}): Promise<Comparison & { receipts: number }> {
  const totalSuppliesOf: LedgerNetwork['totalSuppliesOf'] = async (tokens) =>
    tokens.map((tokenAddress) => ({ tokenAddress, amount: minted }));
  return reconcileReceipts({
    db: database.handle.db,
    network: { ...network, totalSuppliesOf },
    isStill,
    receiptIds: [refused.id, pending.id],
  });
}

const findingOf = ({ assetId, quantityKg }: Receipt, minted: bigint) => ({
  invariant: 'I3',
  message: `${assetId}: ${minted} base units were minted, ${toBaseUnits(quantityKg)} were deposited, and no mint of it has succeeded`,
});

it('agrees with the network where nothing is minted', async () => {
  expect(await compare(0n)).toMatchObject({ receipts: 2, findings: [], notProved: [] });
});

it('is not proved where its mint may have landed', async () => {
  const whole = toBaseUnits(refused.quantityKg);
  const { findings, notProved } = await compare(whole);
  expect(findings).toEqual([]);
  expect(notProved).toEqual([
    { ...findingOf(refused, whole), obstacle: 'UNDER_REVIEW' },
    { ...findingOf(pending, whole), obstacle: 'UNDER_WAY' },
  ]);
});

it('is found where something else is minted, or where no call is on its way to the network', async () => {
  const whole = toBaseUnits(refused.quantityKg);
  expect((await compare(1n)).findings).toEqual([findingOf(refused, 1n), findingOf(pending, 1n)]);
  const { findings, notProved } = await compare(whole, { isStill: true });
  expect(findings).toEqual([findingOf(refused, whole), findingOf(pending, whole)]);
  expect(notProved).toEqual([]);
});

it('is compared by an incremental run, and found without an open mint', async () => {
  const { db } = database.handle;
  const { dependencies } = platform;
  const snapshot = await readSnapshot(db);
  const whole = toBaseUnits(refused.quantityKg);
  await changePastRules(
    database,
    sql`UPDATE submissions SET state = 'REFUSED', settled_at = now(), review_cause = NULL
      WHERE target_id = ${refused.id} AND kind = 'mint'`,
  );
  const totalSuppliesOf: LedgerNetwork['totalSuppliesOf'] = async (tokens) =>
    tokens.map((tokenAddress) => ({ tokenAddress, amount: whole }));
  const report = await reconcileChanged(
    { ...dependencies, network: { ...network, totalSuppliesOf } },
    snapshot,
  );
  expect(report?.findings).toContainEqual(findingOf(refused, whole));
});
