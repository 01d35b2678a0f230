/**
 * RAMP_SETTLEMENT_ADDRESS names another contract while cash-outs are open: each goes on with its own contract, and
 * what needs a transaction waits for an operator, who reads both addresses.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { deployRampSettlement } from '../../../src/resolvers/operations/deployRampSettlement.ts';
import { setManualSessionStatus } from '../../../src/resolvers/operations/setManualSessionStatus.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { custodySecretKey } from '../../../devnet/platform.ts';
import { landOutside } from '../../support/burnOutside.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { createEmbeddedNetwork, type EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { readReviews } from '../../support/histories.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import {
  activeReceipt,
  decideReviewOf,
  depositedCashOut,
  providerSays,
  reaches,
} from '../../support/warehouse.ts';

let database: TestDatabase;
let first: EmbeddedNetwork;
let second: EmbeddedNetwork;
/** Addresses of the settlement contracts. */
let own = '';
let other = '';

const networkWith = (settlementAddress: string) =>
  createEmbeddedNetwork({
    handle: database.handle,
    secretKey: custodySecretKey,
    clock: systemClock,
    randomBytes,
    settlementAddress,
  });

beforeAll(async () => {
  database = await createTestDatabase();
  first = await embeddedNetworkOn(database.handle);
  own = (await first.settlementContract())?.address ?? '';
  // While none is in use, another one can be deployed.
  const none = await networkWith(first.factoryAddress);
  await running({ ...none, findSettlement: async () => null }, async ({ dependencies }) => {
    const deployed = await deployRampSettlement(dependencies, 'operator', { idempotencyKey: 'k' });
    other = deployed.settlementAddress ?? '';
  });
  second = await networkWith(other);
});
afterAll(() => database.drop());

async function running<T>(network: EmbeddedNetwork, work: (platform: Platform) => Promise<T>): Promise<T> {
  const platform = await platformOn(database.handle, network);
  await platform.start();
  try {
    return await work(platform);
  } finally {
    await platform.stop();
  }
}

const open = () =>
  running(first, async (platform) => depositedCashOut(platform, await activeReceipt(platform)));

it('is not decided by a deposit under its id in the other contract', async () => {
  const { id, tokenAddress, providerSessionId: sessionId } = await open();
  const amount = toBaseUnits(100n);
  await landOutside(second, { kind: 'depositOffRamp', sessionId, tokenAddress, amount });
  await landOutside(second, { kind: 'refundOffRamp', sessionId });
  await running(second, async (platform) => {
    // A payout of tokens that are released must not be made; these are not.
    const status = { sessionId, status: 'processing' } as const;
    expect(await setManualSessionStatus(platform.dependencies, 'operator', status)).toMatchObject(status);
    await providerSays(platform, sessionId, 'refunded');
    await reaches(platform, id, 'NEEDS_REVIEW');
    const decide = (decision: 'ACCEPT' | 'REFUND') => decideReviewOf(platform, id, decision);
    await expect(decide('ACCEPT')).rejects.toMatchObject({ details: { depositStatus: 'PENDING' } });
    await expect(decide('REFUND')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(`${own}, but RAMP_SETTLEMENT_ADDRESS names ${other}`) as string,
      details: { field: 'input.decision', settlementAddress: own },
    });
  });
  await landOutside(first, { kind: 'refundOffRamp', sessionId });
  await running(second, async (platform) => {
    expect(await decideReviewOf(platform, id, 'ACCEPT')).toMatchObject({ state: 'REFUNDED' });
    const status = { sessionId, status: 'processing' } as const;
    await expect(setManualSessionStatus(platform.dependencies, 'operator', status)).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { depositStatus: 'REFUNDED' },
    });
  });
});

it('is released by its own contract once that is configured again', async () => {
  const { id, providerSessionId } = await open();
  await running(second, async (platform) => {
    await providerSays(platform, providerSessionId, 'settled');
    await reaches(platform, id, 'NEEDS_REVIEW');
    const [review] = await readReviews(platform.dependencies, id);
    expect(review?.flaggedBecause).toContain(`${own}, but RAMP_SETTLEMENT_ADDRESS names ${other}`);
  });
  await running(first, async (platform) => {
    await decideReviewOf(platform, id, 'RETRY');
    await reaches(platform, id, 'SETTLED');
    expect((await reconcileAll(platform.dependencies)).findings).toEqual([]);
  });
});
