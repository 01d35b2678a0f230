/**
 * The warehouse side of a composed platform, for tests: prices, deposits, and cash-outs that go as far as is asked.
 */
import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { ComposeOptions, Platform } from '../../src/compose.ts';
import { cashOutSessions } from '../../src/db/schema/index.ts';
import { awaitSubject } from '../../src/resolvers/awaitSubject.ts';
import type { CashOutInput } from '../../src/resolvers/beginCashOut.ts';
import { cashOut } from '../../src/resolvers/cashOut.ts';
import { createDeposit, type CreateDepositInput } from '../../src/resolvers/createDeposit.ts';
import { findCashOut, type CashOut, type CashOutState } from '../../src/resolvers/findCashOut.ts';
import type { TokenizedReceipt } from '../../src/resolvers/findReceipt.ts';
import { receivePayoutHint } from '../../src/resolvers/receivePayoutHint.ts';
import { setManualSessionStatus } from '../../src/resolvers/setManualSessionStatus.ts';

/** 1 kg is 50 KES or 1428 UGX (which has no cents) before a fee of 1.5 %. */
export const warehouseOptions = {
  ramp: {
    kind: 'manual',
    exchangeRates: { KES: '0.02', UGX: '0.0007' },
    feeBps: 150,
    quoteSeconds: 900,
  },
  receiptCountryCode: 'KE',
  expiryTimeZone: 'UTC',
} as const satisfies Partial<ComposeOptions>;

export const farmer = { subject: 'farmer-1', isOperator: false };

/** Minted to custody, which is what cash-outs deposit from. */
export function depositInput(
  platform: Pick<Platform, 'dependencies'>,
  overrides: Partial<CreateDepositInput> = {},
): CreateDepositInput {
  return {
    farmerAddress: platform.dependencies.network.custodyAddress,
    commodityType: 'Maize',
    quantityKg: 1000n,
    warehouseId: `WH-${randomUUID().slice(0, 8)}`,
    gradeClassification: 'Grade 1',
    valuationUSD: 400n,
    farmerId: farmer.subject,
    idempotencyKey: randomUUID(),
    ...overrides,
  };
}

export async function activeReceipt(
  platform: Pick<Platform, 'dependencies'>,
  overrides: Partial<CreateDepositInput> = {},
): Promise<TokenizedReceipt> {
  const receipt = await createDeposit(
    platform.dependencies,
    'warehouse-1',
    depositInput(platform, overrides),
  );
  if (receipt.state !== 'ACTIVE' || receipt.tokenAddress === null) {
    throw new Error(`the receipt is ${receipt.state}: ${receipt.refusalMessage}`);
  }
  return { ...receipt, tokenAddress: receipt.tokenAddress };
}

export const ACCOUNT_NUMBER = '254700123456';

export function cashOutInput(receipt: TokenizedReceipt, overrides: Partial<CashOutInput> = {}): CashOutInput {
  return {
    tokenAmount: 100n,
    fiatCurrency: 'KES',
    countryCode: 'KE',
    payoutAccount: { type: 'mobile-money', accountNumber: ACCOUNT_NUMBER, provider: 'MTN' },
    receiptTokenAddress: receipt.tokenAddress,
    idempotencyKey: randomUUID(),
    ...overrides,
  };
}

/** A session whose deposit is final, waiting for its payout. */
export async function depositedCashOut(
  platform: Pick<Platform, 'dependencies'>,
  receipt?: TokenizedReceipt,
  overrides: Partial<CashOutInput> = {},
): Promise<CashOut & { providerSessionId: string }> {
  const from = receipt ?? (await activeReceipt(platform));
  const session = await cashOut(platform.dependencies, farmer, cashOutInput(from, overrides));
  if (session.state !== 'AWAITING_PAYOUT') throw new Error(`the cash-out is ${session.state}`);
  return { ...session, providerSessionId: session.providerSessionId ?? '' };
}

/** What the provider says now, and the webhook that tells of it. */
export async function providerSays(
  platform: Pick<Platform, 'dependencies'>,
  providerSessionId: string,
  status: Parameters<typeof setManualSessionStatus>[2]['status'],
): Promise<void> {
  const { dependencies } = platform;
  await setManualSessionStatus(dependencies, 'operator', { sessionId: providerSessionId, status });
  await receivePayoutHint(dependencies, providerSessionId);
}

/** Waits until the session is in one of these states. */
export async function reaches(
  platform: Pick<Platform, 'dependencies'>,
  cashOutId: string,
  ...states: CashOutState[]
): Promise<CashOut> {
  const { dependencies } = platform;
  const session = await awaitSubject(
    dependencies,
    cashOutId,
    () => findCashOut(dependencies, cashOutId),
    (current) => current !== null && states.includes(current.state),
  );
  if (!session || !states.includes(session.state)) {
    throw new Error(`the cash-out is ${session?.state}, not ${states.join(' or ')}`);
  }
  return session;
}

/** The session as the database has it under our reference. */
export async function sessionOf(platform: Platform, receiptId: string): Promise<CashOut> {
  const [session] = await platform.dependencies.db
    .select()
    .from(cashOutSessions)
    .where(eq(cashOutSessions.receiptId, receiptId));
  if (!session) throw new Error(`receipt ${receiptId} has no cash-out`);
  return session;
}
