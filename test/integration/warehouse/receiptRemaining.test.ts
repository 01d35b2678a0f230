/**
 * The remaining kilograms of a receipt: the public, the farmer and subscribers get the same answer, and a
 * pledge uses it too.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import {
  activeReceipt,
  decideReviewOf,
  depositedCashOut,
  farmer,
  providerSays,
  reaches,
} from '../../support/warehouse.ts';

let market: Marketplace;
let origin: string;
beforeAll(async () => {
  market = await startMarketplace({ withIndexer: false });
  origin = new URL(market.url).origin;
});
afterAll(() => market.stop());

interface Standing {
  state: string;
  quantityKg: string;
  remainingKg: string;
  beingCashedOut: boolean;
}
const STANDING = 'state quantityKg remainingKg beingCashedOut';
const asFarmer = { role: 'farmer', subject: farmer.subject } as const;
const BOTH = `query ($token: Address!) {
  publicReceipt(tokenAddress: $token) { ${STANDING} } receipt(tokenAddress: $token) { ${STANDING} } }`;

const receiptOf = (quantityKg: bigint) => activeReceipt(market.app, { quantityKg });

/** The receipt as the public and the farmer read it; both must read the same. */
async function standingOf({ tokenAddress }: TokenizedReceipt): Promise<Standing | undefined> {
  const { data, errors } = await market.send<Record<'publicReceipt' | 'receipt', Standing>>(
    BOTH,
    { token: tokenAddress },
    asFarmer,
  );
  expect(errors).toEqual([]);
  expect(data?.receipt).toEqual(data?.publicReceipt);
  return data?.publicReceipt;
}

/** The page's headline, and whether it is green. */
async function pageOf({
  tokenAddress,
}: TokenizedReceipt): Promise<[headline: string | undefined, isGood: boolean]> {
  const text = await (await fetch(`${origin}/receipts/${tokenAddress}`)).text();
  const [, tone, headline] = /<div class="result (\w+)"><h2>([^<]*)<\/h2>/.exec(text) ?? [];
  return [headline, tone === 'good'];
}

it('is all of it, until a cash-out is opened, and again after a refund', async () => {
  const receipt = await receiptOf(1_000n);
  const whole = { state: 'ACTIVE', quantityKg: '1000', remainingKg: '1000', beingCashedOut: false };
  expect(await standingOf(receipt)).toEqual(whole);
  expect(await pageOf(receipt)).toEqual(['Valid, not pledged', true]);
  const { id, providerSessionId } = await depositedCashOut(market.app, receipt, { tokenAmount: 400n });
  expect(await standingOf(receipt)).toEqual({ ...whole, remainingKg: '600', beingCashedOut: true });
  expect(await pageOf(receipt)).toEqual([
    'Valid, being cashed out, 600 kg of 1\u{202f}000 kg left, not pledged',
    false,
  ]);
  await providerSays(market.app, providerSessionId, 'failed');
  await reaches(market.app, id, 'REFUNDED');
  expect(await standingOf(receipt)).toEqual(whole);
  expect(await pageOf(receipt)).toEqual(['Valid, not pledged', true]);
});

it('is less after a cash-out of a part, and nothing after one of the rest', async () => {
  const receipt = await receiptOf(1_000n);
  const settle = async (tokenAmount: bigint) => {
    const { id, providerSessionId } = await depositedCashOut(market.app, receipt, { tokenAmount });
    await providerSays(market.app, providerSessionId, 'settled');
    await reaches(market.app, id, 'SETTLED');
  };
  await settle(400n);
  expect(await standingOf(receipt)).toMatchObject({
    state: 'ACTIVE',
    remainingKg: '600',
    beingCashedOut: false,
  });
  expect(await pageOf(receipt)).toEqual(['Valid, 600 kg of 1\u{202f}000 kg left, not pledged', true]);
  await settle(600n);
  expect(await standingOf(receipt)).toMatchObject({
    state: 'ACTIVE',
    remainingKg: '0',
    beingCashedOut: false,
  });
  expect(await pageOf(receipt)).toEqual(['Cashed out, not pledged', false]);
});

it('is nothing when a refunded payout was paid after all, and that is accepted', async () => {
  const receipt = await receiptOf(200n);
  const { id, providerSessionId } = await depositedCashOut(market.app, receipt, { tokenAmount: 200n });
  await providerSays(market.app, providerSessionId, 'failed');
  await reaches(market.app, id, 'REFUNDED');
  await providerSays(market.app, providerSessionId, 'settled');
  await reaches(market.app, id, 'NEEDS_REVIEW');
  expect(await standingOf(receipt)).toMatchObject({ remainingKg: '0', beingCashedOut: true });
  expect(await pageOf(receipt)).toEqual(['Valid, being cashed out, 0 kg of 200 kg left, not pledged', false]);
  expect(await decideReviewOf(market.app, id, 'ACCEPT')).toMatchObject({ state: 'REFUNDED' });
  expect(await standingOf(receipt)).toMatchObject({ remainingKg: '0', beingCashedOut: false });
  expect(await pageOf(receipt)).toEqual(['Cashed out, not pledged', false]);
});

it('is sent to those who follow the receipt', async () => {
  const receipt = await receiptOf(300n);
  const stream = market
    .socket(asFarmer)
    .iterate<{ receiptUpdated: Pick<Standing, 'remainingKg' | 'beingCashedOut'> }>({
      query: 'subscription ($id: ID!) { receiptUpdated(id: $id) { remainingKg beingCashedOut } }',
      variables: { id: Buffer.from(`Receipt:${receipt.id}`).toString('base64url') },
    });
  const told = async () => (await stream.next()).value?.data?.receiptUpdated;
  expect(await told()).toEqual({ remainingKg: '300', beingCashedOut: false });
  const { id, providerSessionId } = await depositedCashOut(market.app, receipt, { tokenAmount: 100n });
  expect(await told()).toEqual({ remainingKg: '200', beingCashedOut: true });
  await providerSays(market.app, providerSessionId, 'failed');
  await reaches(market.app, id, 'REFUNDED');
  expect(await told()).toEqual({ remainingKg: '300', beingCashedOut: false });
  await stream.return?.();
});

it('is read for a whole list at once', async () => {
  const receipts = await Promise.all([receiptOf(10n), receiptOf(20n), receiptOf(30n)]);
  const filter = { tokenAddresses: receipts.map(({ tokenAddress }) => tokenAddress) };
  const select = vi.spyOn(market.app.dependencies.db, 'select');
  const isOfTaken = ([fields]: unknown[]) => Object.hasOwn(fields ?? {}, 'takenKg');
  // On a busy server a turn may end between two receipts, which splits the reading into parts.
  await vi.waitFor(async () => {
    select.mockClear();
    const { data } = await market.send<{ receipts: { nodes: Standing[] } }>(
      `query ($filter: ReceiptFilter) { receipts(first: 10, filter: $filter) { nodes { ${STANDING} } } }`,
      { filter },
      asFarmer,
    );
    expect(data?.receipts.nodes.map(({ remainingKg }) => remainingKg).sort()).toEqual(['10', '20', '30']);
    expect(select.mock.calls.filter(isOfTaken)).toHaveLength(1);
  }, 10_000);
  select.mockRestore();
});
