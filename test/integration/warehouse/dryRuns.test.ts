/**
 * Dry runs of deposits and cash-outs: all checks run, and nothing changes.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  idempotencyKeys,
  manualRampSessions,
  offRampSessions,
  receipts,
  submissions,
} from '../../../src/db/tables/index.ts';
import { pledgeReceipt } from '../../../src/resolvers/warehouse/pledgeReceipt.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { activeReceipt, farmer } from '../../support/warehouse.ts';

let market: Marketplace;
let receipt: TokenizedReceipt;

beforeAll(async () => {
  market = await startMarketplace({ withIndexer: false });
  receipt = await activeReceipt(market.app);
});
afterAll(() => market.stop());

/** Counts the rows that a mutation would add to. */
function written(): Promise<number[]> {
  const { db } = market.app.dependencies;
  const tables = [idempotencyKeys, manualRampSessions, offRampSessions, receipts, submissions];
  return Promise.all(tables.map((table) => db.$count(table)));
}

async function unchanged<T>(act: () => Promise<T>): Promise<T> {
  const before = await written();
  const answer = await act();
  expect(await written()).toEqual(before);
  return answer;
}

describe('a dry run of cashOut', () => {
  const input = (overrides: object = {}) => ({
    receiptTokenAddress: receipt.tokenAddress,
    tokenAmount: 100,
    fiatCurrency: 'KES',
    countryCode: 'KE',
    payoutAccount: { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MTN' },
    idempotencyKey: 'one for all',
    dryRun: true,
    ...overrides,
  });
  const send = (overrides: object = {}) =>
    market.send<{ cashOut: { offRampSession: object | null; dryRun: { payout: object } | null } }>(
      `mutation ($input: CashOutInput!) { cashOut(input: $input) {
        sessionId txHash offRampSession { state payout { amount currency } } dryRun { tokenAmount payout { amount currency } } } }`,
      { input: input(overrides) },
      { role: 'farmer', subject: farmer.subject },
    );
  const refusal = async (overrides: object) => (await unchanged(() => send(overrides))).errors[0]?.extensions;

  it('answers with the quote, and the real one follows with the same key', async () => {
    const answer = await unchanged(() => send());
    expect(answer.errors).toEqual([]);
    expect(answer.data?.cashOut).toMatchObject({
      sessionId: null,
      txHash: null,
      offRampSession: null,
      dryRun: { tokenAmount: '100', payout: { currency: 'KES' } },
    });
    const real = await send({ dryRun: false });
    expect(real.data?.cashOut).toMatchObject({
      offRampSession: { state: 'AWAITING_PAYOUT', payout: answer.data?.cashOut.dryRun?.payout },
      dryRun: null,
    });
  });

  it('is refused as the real one would be', async () => {
    expect(await refusal({ tokenAmount: 1001 })).toMatchObject({ code: 'INSUFFICIENT_BALANCE' });
    expect(await refusal({ dryRun: null })).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.dryRun' });
    expect(await refusal({ fiatCurrency: 'XAU' })).toMatchObject({ code: 'RAMP_REFUSED' });
    expect(await refusal({ receiptTokenAddress: market.network.custodyAddress })).toMatchObject({
      code: 'NOT_FOUND',
    });
    const pledged = await activeReceipt(market.app);
    const { tokenAddress: receiptTokenAddress } = pledged;
    const loan = {
      receiptTokenAddress,
      lenderName: 'a bank',
      loanReference: 'loan',
      idempotencyKey: randomUUID(),
    };
    await pledgeReceipt(market.app.dependencies, farmer, loan);
    expect(await refusal({ receiptTokenAddress })).toMatchObject({ code: 'RECEIPT_PLEDGED' });
  });
});

describe('a dry run of prepareCashOutDeposit', () => {
  const holder = createEmbeddedHolder();
  const send = (overrides: object = {}) =>
    market.send<{ prepareCashOutDeposit: { dryRun: { payout: object } | null } }>(
      `mutation ($input: PrepareCashOutDepositInput!) { prepareCashOutDeposit(input: $input) {
        offRampSession { state payout { amount currency } } holderAct { kind } dryRun { payout { amount currency } } } }`,
      {
        input: {
          receiptTokenAddress: held.tokenAddress,
          holderAddress: holder.address,
          tokenAmount: 100,
          fiatCurrency: 'KES',
          countryCode: 'KE',
          payoutAccount: { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MTN' },
          idempotencyKey: 'one for all',
          dryRun: true,
          ...overrides,
        },
      },
      { role: 'farmer', subject: farmer.subject },
    );
  let held: TokenizedReceipt;
  beforeAll(async () => {
    held = await activeReceipt(market.app, { farmerAddress: holder.address });
  });

  it('answers with the quote, and the real one follows with the same key', async () => {
    const answer = await unchanged(() => send());
    expect(answer.errors).toEqual([]);
    expect(answer.data?.prepareCashOutDeposit).toMatchObject({
      offRampSession: null,
      holderAct: null,
      dryRun: { payout: { currency: 'KES' } },
    });
    const real = await send({ dryRun: false });
    expect(real.data?.prepareCashOutDeposit).toMatchObject({
      offRampSession: {
        state: 'AWAITING_SIGNATURE',
        payout: answer.data?.prepareCashOutDeposit.dryRun?.payout,
      },
      holderAct: { kind: 'DEPOSIT' },
      dryRun: null,
    });
  });

  it.each([
    [{ tokenAmount: 901 }, 'INSUFFICIENT_BALANCE'],
    [{ holderAddress: 'nowhere' }, 'BAD_USER_INPUT'],
    [{ receiptTokenAddress: 'nowhere' }, 'NOT_FOUND'],
    [{ fiatCurrency: 'XAU' }, 'RAMP_REFUSED'],
  ])('is refused as the real one would be, with %j', async (overrides, code) => {
    const answer = await unchanged(() => send(overrides));
    expect(answer.errors[0]?.extensions.code).toBe(code);
  });
});

describe('a dry run of createDeposit', () => {
  const send = (overrides: object = {}) =>
    market.send<{ createDeposit: object }>(
      `mutation ($input: CreateDepositInput!) { createDeposit(input: $input) {
        tokenAddress txHash receipt { state } dryRun { assetId tokenName depositDate expiryDate } } }`,
      {
        input: {
          farmerAddress: market.network.custodyAddress,
          commodityType: 'Maize',
          quantityKg: 1000,
          warehouseId: 'WH-dry',
          gradeClassification: 'Grade 1',
          valuationUSD: 400,
          idempotencyKey: 'one for all',
          dryRun: true,
          ...overrides,
        },
      },
      { role: 'operator', subject: 'operator-1' },
    );

  it('answers with what the receipt would be', async () => {
    const answer = await unchanged(() => send());
    expect(answer.errors).toEqual([]);
    expect(answer.data?.createDeposit).toMatchObject({
      tokenAddress: null,
      txHash: null,
      receipt: null,
      dryRun: { assetId: expect.stringMatching(/^WH-dry-\d{13}$/), tokenName: 'Maize WH-dry' },
    });
    expect((await send({ dryRun: false })).data?.createDeposit).toMatchObject({
      receipt: { state: 'ACTIVE' },
      dryRun: null,
    });
  });

  it('is refused as the real one would be', async () => {
    const answer = await unchanged(() => send({ farmerAddress: 'nowhere' }));
    expect(answer.errors[0]?.extensions).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'input.farmerAddress',
    });
  });
});
