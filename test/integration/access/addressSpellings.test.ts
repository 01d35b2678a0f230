/**
 * A request that is sent again under its key counts as the same request in every spelling of its addresses.
 * Idempotency keys are kept forever, with the hash of their input.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { transferCredits } from '../../../src/resolvers/carbon/transferCredits.ts';
import { prepareCashOutDeposit } from '../../../src/resolvers/wallets/prepareCashOutDeposit.ts';
import { prepareRetirement } from '../../../src/resolvers/wallets/prepareRetirement.ts';
import { createDeposit } from '../../../src/resolvers/warehouse/createDeposit.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { openProject } from '../../../devnet/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { activeReceipt, cashOutInput, depositInput, farmer } from '../../support/warehouse.ts';

const holder = createEmbeddedHolder();
let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let tokenAddress: string;

beforeAll(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  // EVM chains accept addresses in small letters as the same addresses.
  const normalizeAddress = (text: string) => network.normalizeAddress(text.toUpperCase());
  platform = await platformOn(database.handle, { ...network, normalizeAddress });
  await platform.start();
  ({ tokenAddress } = await openProject(platform, 1000n));
  const bought = { buyerId: 'acme', tokenAddress, amountCO2e: 100n, idempotencyKey: randomUUID() };
  await purchase(platform.dependencies, 'acme', bought);
  await network.transfer(tokenAddress, holder.address, toBaseUnits(100n));
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

type Spelling = (address: string) => string;

/** Returns the ids of both answers. */
async function twice(send: (as: Spelling) => Promise<{ id: string }>): Promise<[string, string]> {
  const first = await send((address) => address);
  const again = await send((address) => address.toLowerCase());
  return [first.id, again.id];
}

it('retire', async () => {
  const input = {
    buyerId: 'acme',
    buyerName: 'Acme',
    amountCO2e: 5n,
    note: '',
    idempotencyKey: randomUUID(),
  };
  const [first, again] = await twice((as) =>
    retire(platform.dependencies, 'acme', { ...input, tokenAddress: as(tokenAddress) }),
  );
  expect(again).toBe(first);
});

it('transferCredits', async () => {
  const sides = { fromBuyerId: 'acme', toBuyerId: 'globex' };
  const input = { ...sides, amountCO2e: 5n, memo: null, idempotencyKey: randomUUID() };
  const [first, again] = await twice((as) =>
    transferCredits(platform.dependencies, 'acme', { ...input, tokenAddress: as(tokenAddress) }),
  );
  expect(again).toBe(first);
});

it('prepareRetirement', async () => {
  const input = { amountCO2e: 5n, beneficiary: 'Acme', note: '', idempotencyKey: randomUUID() };
  const [first, again] = await twice((as) =>
    prepareRetirement(platform.dependencies, 'acme', {
      ...input,
      tokenAddress: as(tokenAddress),
      holder: as(holder.address),
    }),
  );
  expect(again).toBe(first);
});

it('createDeposit', async () => {
  const input = depositInput(platform);
  const [first, again] = await twice((as) =>
    createDeposit(platform.dependencies, 'warehouse-1', { ...input, farmerAddress: as(input.farmerAddress) }),
  );
  expect(again).toBe(first);
});

it('cashOut', async () => {
  const input = cashOutInput(await activeReceipt(platform));
  const [first, again] = await twice((as) =>
    cashOut(platform.dependencies, farmer, { ...input, receiptTokenAddress: as(input.receiptTokenAddress) }),
  );
  expect(again).toBe(first);
});

it('prepareCashOutDeposit', async () => {
  const input = cashOutInput(await activeReceipt(platform, { farmerAddress: holder.address }));
  const [first, again] = await twice(async (as) => {
    const receiptTokenAddress = as(input.receiptTokenAddress);
    const asked = { ...input, receiptTokenAddress, holder: as(holder.address) };
    return (await prepareCashOutDeposit(platform.dependencies, farmer, asked)).session;
  });
  expect(again).toBe(first);
});
