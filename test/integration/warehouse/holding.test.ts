import { afterAll, beforeAll, expect, it } from 'vitest';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { activeReceipt, cashOutInput, farmer, reaches } from '../../support/warehouse.ts';

let market: Marketplace;

beforeAll(async () => {
  market = await startMarketplace({ withIndexer: false });
});
afterAll(async () => {
  const { findings } = await reconcileAll(market.app.dependencies);
  await market.stop();
  expect(findings).toEqual([]);
});

it('does not count a deposit that has landed, and is not settled yet, as promised too', async () => {
  const { dependencies } = market.app;
  const { submission, network } = dependencies;
  const receipt = await activeReceipt(market.app, { quantityKg: 1000n });
  let goOn = () => {};
  const goesOn = new Promise<void>((resolve) => (goOn = resolve));
  const { crashPoint } = submission;
  submission.crashPoint = async (point) => {
    if (point === 'outcome-known') await goesOn;
  };
  const impatient = { ...dependencies, mutationWaitMs: 0 };
  const first = await cashOut(impatient, farmer, cashOutInput(receipt, { tokenAmount: 600n }));
  await expect
    .poll(() => network.balanceOf(receipt.tokenAddress, network.custodyAddress))
    .toBe(toBaseUnits(400n));
  expect(await findOffRampSession(dependencies, first.id)).toMatchObject({ depositedAt: null });

  const second = await cashOut(impatient, farmer, cashOutInput(receipt, { tokenAmount: 400n }));
  submission.crashPoint = crashPoint;
  goOn();
  for (const { id } of [first, second]) await reaches(market.app, id, 'AWAITING_PAYOUT');
  await expect(
    cashOut(dependencies, farmer, cashOutInput(receipt, { tokenAmount: 1n })),
  ).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE' });
});
