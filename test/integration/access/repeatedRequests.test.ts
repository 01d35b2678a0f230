/**
 * A request repeated by another version of a client: it writes defaults out, null where the first wrote
 * nothing, and the same amount in another spelling. The key's first answer must come back.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  balanceOf,
  buy,
  buyer,
  developer,
  mutate,
  newToken,
  operator,
  payloadOf,
  projectInput,
} from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';
import { activeReceipt, depositInput, farmer } from '../../support/warehouse.ts';

let market: Marketplace;
let tokenAddress: string;
beforeAll(async () => {
  market = await startMarketplace();
  const pricePerTonne = { amount: '4.5', currency: 'USD' };
  tokenAddress = await newToken(market, { pricePerTonne });
  await buy(market, 'acme', tokenAddress, 100);
});
afterAll(() => market.stop());

type Mutation = Parameters<typeof mutate>[1];
type Input = Record<string, unknown>;

const acme = buyer('acme');
const admin = { role: 'admin', subject: 'root' } as const;
const ZEROS = `0x${'0'.repeat(64)}`;

/** Sends the input, and then again with `spelled`; returns the ids of both answers. */
async function twice(mutation: Mutation, input: Input, spelled: Input, caller: TestCaller) {
  const idempotencyKey = randomUUID();
  const send = async (asked: Input) => {
    const answer = await mutate<Input>(market, mutation, { ...asked, idempotencyKey }, caller);
    const found = /"id":"([^"]+)"/.exec(JSON.stringify(payloadOf(answer)));
    return found?.[1] ?? 'no id';
  };
  return [await send(input), await send({ ...input, ...spelled })] as const;
}

const PURCHASE = ['purchase', 'PurchaseInput', 'purchase { id }'] as const;
const RETIRE = ['retire', 'RetireInput', 'retirement { id }'] as const;
const TRANSFER = ['transferCredits', 'TransferCreditsInput', 'creditTransfer { id }'] as const;
const PROJECT = ['createProject', 'CreateProjectInput', 'project { id }'] as const;
const DEPOSIT = ['createDeposit', 'CreateDepositInput', 'receipt { id }'] as const;
const CASH_OUT = ['cashOut', 'CashOutInput', 'offRampSession { id }'] as const;
const API_KEY = ['createApiKey', 'CreateApiKeyInput', 'apiKey { id }'] as const;

const depositOf = (): Input => {
  const { quantityKg, valuationUSD, ...rest } = depositInput(market.app);
  return { ...rest, quantityKg: Number(quantityKg), valuationUSD: Number(valuationUSD) };
};
const keyOf = (overrides: Input): Input => ({
  name: 'billing',
  subject: 'acme',
  expiresAt: Math.floor(Date.now() / 1000) + 3600,
  ...overrides,
});

describe('a repeated request', () => {
  it('of purchase', async () => {
    const expectedPricePerTonne = { amount: '4.50', currency: 'USD' };
    const input = { tokenAddress, amountCO2e: 5, expectedPricePerTonne };
    const price = { amount: '4.500', currency: 'USD' };
    const spelled = { buyerId: 'acme', amountCO2e: '5', expectedPricePerTonne: price, dryRun: false };
    const [first, again] = await twice(PURCHASE, input, spelled, acme);
    expect(again).toBe(first);
    const open = { tokenAddress, amountCO2e: 5 };
    const [any, anyAgain] = await twice(PURCHASE, open, { expectedPricePerTonne: null, dryRun: false }, acme);
    expect(anyAgain).toBe(any);
    expect(await balanceOf(market, 'acme', tokenAddress)).toBe('110');
  });

  it('of retire and transferCredits', async () => {
    const nulls = { reason: null, period: null, jurisdiction: null, beneficiaryId: null, dryRun: false };
    const input = { tokenAddress, amountCO2e: 5, buyerName: 'Acme' };
    const spelled = { ...nulls, amountCO2e: '5', buyerId: 'acme', buyerName: ' Acme ', note: '' };
    const [retired, retiredAgain] = await twice(RETIRE, input, spelled, acme);
    expect(retiredAgain).toBe(retired);
    const sent = { tokenAddress, amountCO2e: 5, toBuyerId: 'globex' };
    const sentAgain = { fromBuyerId: 'acme', memo: null, dryRun: false };
    const [transfer, transferAgain] = await twice(TRANSFER, sent, sentAgain, acme);
    expect(transferAgain).toBe(transfer);
  });

  it('of createProject', async () => {
    const [first, again] = await twice(PROJECT, projectInput(), { pricePerTonne: null }, developer);
    expect(again).toBe(first);
    const pricePerTonne = { amount: '5', currency: 'USD' };
    const spelled = { pricePerTonne: { amount: '5.00', currency: 'USD' }, quantityCO2e: '1000' };
    const [priced, pricedAgain] = await twice(PROJECT, projectInput({ pricePerTonne }), spelled, developer);
    expect(pricedAgain).toBe(priced);
  });

  it('of createDeposit', async () => {
    const nulls = { warehouseLocation: null, harvestSeason: null, dryRun: false };
    const defaults = { countryCode: 'KE', inspectionReportHash: ZEROS };
    const [first, again] = await twice(DEPOSIT, depositOf(), { ...nulls, ...defaults }, operator);
    expect(again).toBe(first);
  });

  it('of cashOut', async () => {
    const receipt = await activeReceipt(market.app);
    const payoutAccount = { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MTN' };
    const input = {
      receiptTokenAddress: receipt.tokenAddress,
      tokenAmount: 10,
      fiatCurrency: 'KES',
      countryCode: 'KE',
      payoutAccount,
    };
    const nulls = { bankCode: null, accountName: null };
    const spelled = { payoutAccount: { ...nulls, ...payoutAccount, accountNumber: ' 254700123456 ' } };
    const caller = { role: 'farmer', subject: farmer.subject } as const;
    const [first, again] = await twice(CASH_OUT, input, { ...spelled, tokenAmount: '10' }, caller);
    expect(again).toBe(first);
  });

  it('of createApiKey', async () => {
    const ofWarehouse = keyOf({ roles: ['WAREHOUSE'] });
    const [first, again] = await twice(API_KEY, ofWarehouse, { warehouseIds: ['acme'] }, admin);
    expect(again).toBe(first);
    const [other, otherAgain] = await twice(
      API_KEY,
      keyOf({ roles: ['BUYER'] }),
      { warehouseIds: [] },
      admin,
    );
    expect(otherAgain).toBe(other);
    const ofTwo = keyOf({ roles: ['BUYER', 'WAREHOUSE'], warehouseIds: ['w1', 'w2'] });
    const turned = { roles: ['WAREHOUSE', 'BUYER'], warehouseIds: ['w2', 'w1', 'w2'] };
    const [two, twoAgain] = await twice(API_KEY, ofTwo, turned, admin);
    expect(twoAgain).toBe(two);
  });
});
