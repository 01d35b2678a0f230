/**
 * Decisions about sessions of holders that have no deposit, as far as the database knows: the agreed deposit
 * counts once it is there, and another one under the reference never does.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { OffRampDeposit } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { pledgeReceipt } from '../../../src/resolvers/warehouse/pledgeReceipt.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { landOutside } from '../../support/burnOutside.ts';
import {
  createEmbeddedHolder,
  startEmbeddedWallets,
  type EmbeddedWallets,
} from '../../support/wallets/embeddedWallets.ts';
import { depositInputOf, prepareDeposit, useReference } from '../../support/wallets/walletCashOuts.ts';
import { sendPastUs } from '../../support/wallets/walletWorld.ts';
import {
  activeReceipt,
  decideReviewOf,
  decideSession,
  farmer,
  makeDue,
  pledgeInput,
  providerSays,
  reaches,
} from '../../support/warehouse.ts';

let world: EmbeddedWallets;
let platform: EmbeddedWallets['platform'];
let receipt: TokenizedReceipt;
const holder = createEmbeddedHolder();

beforeAll(async () => {
  world = await startEmbeddedWallets();
  ({ platform } = world);
  receipt = await activeReceipt(platform, { farmerAddress: holder.address });
});
afterAll(async () => {
  const { findings } = await reconcileAll(platform.dependencies);
  await world.stop();
  expect(findings).toEqual([]);
});

async function prepared(of = receipt) {
  const { session, act } = await prepareDeposit(world, holder, depositInputOf(of, holder));
  return { ...session, providerSessionId: session.providerSessionId ?? '', act };
}

it('are retried with the deposit that is there by now, though the receipt was pledged meanwhile', async () => {
  const own = await activeReceipt(platform, { farmerAddress: holder.address });
  const { id, providerSessionId, act } = await prepared(own);
  await providerSays(platform, providerSessionId, 'failed');
  await reaches(platform, id, 'CLOSED');
  await pledgeReceipt(platform.dependencies, farmer, pledgeInput(own));
  await providerSays(platform, providerSessionId, 'settled');
  await reaches(platform, id, 'NEEDS_REVIEW');
  await sendPastUs(world, holder, act);
  await decideReviewOf(platform, id, 'RETRY');
  expect(await reaches(platform, id, 'SETTLED')).toMatchObject({ resolution: 'SETTLE' });
});

/** Decides while the network shows another deposit than the one that it has. */
function decideWhenShown(
  offRampSessionId: string,
  decision: 'REFUND' | 'ACCEPT',
  changes: Partial<OffRampDeposit>,
) {
  const { dependencies } = platform;
  const offRampDeposit = async (contract: string, sessionId: string) => {
    const seen = await world.network.offRampDeposit(contract, sessionId);
    return seen && { ...seen, ...changes };
  };
  const network = { ...dependencies.network, offRampDeposit };
  const input = { offRampSessionId, decision, reason: 'looked at it' } as const;
  return decideSession({ ...dependencies, network }, 'operator', input);
}

it('do not release another deposit for a session that was paid: its depositor gets it back', async () => {
  const session = await prepared();
  const { id, providerSessionId } = session;
  await providerSays(platform, providerSessionId, 'settled');
  await reaches(platform, id, 'NEEDS_REVIEW');
  const stranger = await useReference(world, holder, receipt, session);
  await expect(decideReviewOf(platform, id, 'CONFIRM')).rejects.toMatchObject({
    code: 'CONFLICT',
    details: { field: 'input.decision', depositStatus: null },
  });
  await decideReviewOf(platform, id, 'RETRY');
  await makeDue(platform, id);
  expect(await reaches(platform, id, 'NEEDS_REVIEW')).toMatchObject({ depositedAt: null });
  await expect(
    decideWhenShown(id, 'REFUND', { tokenAddress: world.network.factoryAddress }),
  ).rejects.toMatchObject({ code: 'CONFLICT', details: { field: 'input.decision', depositStatus: null } });
  await decideReviewOf(platform, id, 'REFUND');
  await reaches(platform, id, 'REFUNDED');
  expect(await world.network.balanceOf(receipt.tokenAddress, stranger)).toBe(toBaseUnits(7n));
});

it('take no other deposit that was given back for that of the session', async () => {
  const session = await prepared();
  const { id, providerSessionId } = session;
  await useReference(world, holder, receipt, session);
  await landOutside(world.network, { kind: 'refundOffRamp', sessionId: providerSessionId });
  await makeDue(platform, id);
  await reaches(platform, id, 'CLOSED');
  const usedUp = { depositedAt: null, stateReason: expect.stringContaining('used up') as string };
  const { ramp } = platform.dependencies;
  await providerSays(platform, providerSessionId, 'refunded');
  await reaches(platform, id, 'NEEDS_REVIEW');
  platform.dependencies.ramp = { ...ramp, closeSession: () => Promise.reject(new Error('away')) };
  const retried = await decideReviewOf(platform, id, 'RETRY');
  platform.dependencies.ramp = ramp;
  expect(retried).toMatchObject({ ...usedUp, state: 'CLOSING', endedAt: null });
  await reaches(platform, id, 'NEEDS_REVIEW');
  expect(await decideReviewOf(platform, id, 'ACCEPT')).toMatchObject({ ...usedUp, state: 'CLOSED' });
});

it('accept that another deposit was given back', async () => {
  const session = await prepared();
  const { id, providerSessionId } = session;
  await useReference(world, holder, receipt, session);
  await makeDue(platform, id);
  await reaches(platform, id, 'REFUNDED');
  await providerSays(platform, providerSessionId, 'settled');
  await reaches(platform, id, 'NEEDS_REVIEW');
  expect(await decideReviewOf(platform, id, 'ACCEPT')).toMatchObject({ state: 'REFUNDED' });
});
