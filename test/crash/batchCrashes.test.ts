/**
 * Kills an instance while it works on many retirements together, at every crash point: each retirement is
 * burned exactly once, equal ones too.
 */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { count } from 'drizzle-orm';
import { attempts, retirementRecords } from '../../src/db/tables/index.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { reconcileAll } from '../../src/reconciliation/reconcileAll.ts';
import { retire } from '../../src/resolvers/carbon/retire.ts';
import { holding } from '../support/holding.ts';
import { useInstances } from './instances.ts';
import { CRASH_POINTS } from '../../src/ledger/submission/submission.ts';

const { instances, database } = useInstances();
const COUNT = 24;

async function prepareInputs() {
  const tokenAddress = await holding(await instances.start(1), BigInt(COUNT + 10));
  await instances.stop();
  return Array.from({ length: COUNT }, (_, i) => ({
    buyerId: 'acme',
    buyerName: 'Acme Ltd',
    tokenAddress,
    amountCO2e: 1n,
    // Every third one equals others.
    note: i % 3 === 0 ? '' : `#${i}`,
    idempotencyKey: randomUUID(),
  }));
}

// Broadcasts and outcomes pass these points one by one, so the kill is in the middle of the batch.
const middle = { 'broadcast-sent': COUNT / 2, 'outcome-known': COUNT / 2 };

it.each(CRASH_POINTS)('retires each of many exactly once after a crash at %s', async (killAt) => {
  const inputs = await prepareInputs();
  const occurrence = (middle as Partial<Record<typeof killAt, number>>)[killAt] ?? 1;
  await instances.crash({ killAt, occurrence, request: { kind: 'retireMany', inputs } });

  const { dependencies } = await instances.start(2);
  const done = await Promise.all(inputs.map((input) => retire(dependencies, 'acme', input)));
  expect(new Set(done.map(({ state }) => state))).toEqual(new Set(['RETIRED']));
  expect(new Set(done.map(({ recordIndex }) => recordIndex)).size).toBe(COUNT);
  const tokenAddress = inputs[0]?.tokenAddress ?? '';
  expect(await dependencies.network.carbonTotals(tokenAddress)).toEqual({
    totalSupply: toBaseUnits(10n),
    totalRetired: toBaseUnits(BigInt(COUNT)),
    totalRetirements: COUNT,
  });
  const { db } = database().handle;
  // With deploy and mint, nothing was signed twice.
  const retirements = await db.select({ n: count() }).from(attempts);
  expect(retirements[0]?.n).toBe(COUNT + 2);
  await expect
    .poll(async () => (await db.select({ n: count(retirementRecords.txHash) }).from(retirementRecords))[0]?.n)
    .toBe(COUNT);
  expect(await reconcileAll(dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
});
