/**
 * A Stellar node with every fault, through the whole of submission: lost, late, stale or untrue answers,
 * outages longer than transactions live, and fees that jump. Whatever happens, each retirement is burned
 * once.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { count, eq } from 'drizzle-orm';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { attempts } from '../../../src/db/tables/index.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { openProject } from '../../../devnet/platform.ts';
import { platformOn } from '../../support/platform.ts';
import type { Faults } from '../../../devnet/soroban/faultProxy.ts';
import { startStellarWorld, type StellarWorld } from '../../../devnet/stellar/stellarWorld.ts';

const RETIREMENTS = 40;
/** Longer than signed bytes live by the network's clock, which runs forty times as fast as real time. */
const FAULT_MS = 700;
const USUAL_PRICE_STROOPS = 100;

let world: StellarWorld;
let database: TestDatabase;
let platform: Platform;
beforeAll(async () => {
  world = await startStellarWorld({ channels: 6 });
  database = await createTestDatabase();
  const network = await connectLedger(world.ledger, database.handle);
  platform = await platformOn(database.handle, network, { mutationWaitMs: 120_000 });
  await platform.start();
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
  await world.close();
});

/** Faults, one after the other; those that count down may outlast their turn. */
const badTimes: fc.Arbitrary<{ faults: Partial<Faults>; price: number }> = fc.record({
  faults: fc.oneof(
    fc.record({ tryAgainLater: fc.integer({ min: 1, max: 10 }) }),
    fc.record({ sayDuplicate: fc.integer({ min: 1, max: 10 }) }),
    fc.record({ sayBadSequence: fc.integer({ min: 1, max: 10 }) }),
    fc.record({ loseSendAnswers: fc.integer({ min: 1, max: 10 }) }),
    fc.record({ denyTransactions: fc.integer({ min: 1, max: 20 }) }),
    fc.record({
      unreachable: fc.constantFrom('reset' as const, 'status-503' as const, 'truncated' as const),
    }),
    fc.record({ lagLedgers: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ delayMs: fc.integer({ min: 20, max: 300 }) }),
  ),
  price: fc.constantFrom(USUAL_PRICE_STROOPS, USUAL_PRICE_STROOPS, 5_000),
});

async function misbehave(times: readonly { faults: Partial<Faults>; price: number }[]): Promise<void> {
  const { controls } = world.testbed.devnet;
  for (const { faults, price } of times) {
    Object.assign(controls.faults, faults);
    controls.setInclusionPrice(price);
    await delay(FAULT_MS);
    Object.assign(controls.faults, { unreachable: null, lagLedgers: 0, delayMs: 0 });
  }
  controls.setInclusionPrice(USUAL_PRICE_STROOPS);
}

describe('at a Stellar node that misbehaves', () => {
  it('burns each of 40 retirements once, whatever the node says', { timeout: 180_000 }, async () => {
    const { dependencies } = platform;
    const { tokenAddress } = await openProject(platform, BigInt(RETIREMENTS));
    await purchase(dependencies, 'acme', {
      buyerId: 'acme',
      tokenAddress,
      amountCO2e: BigInt(RETIREMENTS),
      idempotencyKey: randomUUID(),
    });
    const seed = Math.floor(Math.random() * 2 ** 31);
    const times = fc.sample(badTimes, { numRuns: 12, seed });
    const trouble = misbehave(times);
    const retirements = await Promise.all(
      Array.from({ length: RETIREMENTS }, (_, number) =>
        retire(dependencies, 'acme', {
          buyerId: 'acme',
          buyerName: 'Acme Ltd',
          tokenAddress,
          amountCO2e: 1n,
          note: `#${number}`,
          idempotencyKey: randomUUID(),
        }),
      ),
    );
    await trouble;
    const told = `seed ${seed}`;
    expect(new Set(retirements.map(({ state }) => state)), told).toEqual(new Set(['RETIRED']));
    const { totals, records } = await dependencies.network.retirementRecords(
      tokenAddress,
      0,
      RETIREMENTS * 2,
    );
    expect(totals.totalRetirements, told).toBe(RETIREMENTS);
    expect(new Set(records.map(({ note }) => note)).size, told).toBe(RETIREMENTS);
    expect(await reconcileAll(dependencies), told).toMatchObject({ findings: [], unsettledProjects: 0 });
    const { db } = database.handle;
    const [open] = await db.select({ count: count() }).from(attempts).where(eq(attempts.state, 'OPEN'));
    expect(open?.count, told).toBe(0);
  });
});
