/**
 * The warehouse side of a composed platform, for tests: deposits, and cash-outs up to a given state.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import type { Platform } from '../../src/startup/compose.ts';
import type { Tx } from '../../src/db/connection.ts';
import { offRampSessions } from '../../src/db/tables/index.ts';
import { addManualStatus, lockManualSession } from '../../src/ramp/manual/manualStatuses.ts';
import type { RampStatus } from '../../src/ramp/port.ts';
import { awaitState } from '../../src/resolvers/core/awaitState.ts';
import { cashOut, type CashOutInput } from '../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { createDeposit, type CreateDepositInput } from '../../src/resolvers/warehouse/createDeposit.ts';
import {
  findOffRampSession,
  type OffRampSession,
  type OffRampState,
} from '../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import type { OffRampSessionChanges } from '../../src/resolvers/warehouse/offRamp/offRampMoves.ts';
import type { TokenizedReceipt } from '../../src/resolvers/warehouse/findReceipt.ts';
import type { PledgeReceiptInput } from '../../src/resolvers/warehouse/pledgeReceipt.ts';
import { ZERO_HASH } from '../../src/ledger/units.ts';
import { receivePayoutHint } from '../../src/resolvers/warehouse/offRamp/receivePayoutHint.ts';
import {
  resolveOffRampSessionReview,
  type SessionReviewInput,
} from '../../src/resolvers/operations/resolveOffRampSessionReview.ts';
import { setManualSessionStatus } from '../../src/resolvers/operations/setManualSessionStatus.ts';

export const farmer = { subject: 'farmer-1', isOperator: false };

/** A deposit minted to custody, which off-ramp sessions deposit from. */
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
    countryCode: 'KE',
    inspectionReportHash: ZERO_HASH,
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
    throw new Error(`the receipt is ${receipt.state}: ${receipt.stateReason}`);
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

/** Makes a session with a final deposit that waits for its payout. */
export async function depositedCashOut(
  platform: Pick<Platform, 'dependencies'>,
  receipt?: TokenizedReceipt,
  overrides: Partial<CashOutInput> = {},
): Promise<OffRampSession & { providerSessionId: string }> {
  const from = receipt ?? (await activeReceipt(platform));
  const session = await cashOut(platform.dependencies, farmer, cashOutInput(from, overrides));
  if (session.state !== 'AWAITING_PAYOUT') throw new Error(`the cash-out is ${session.state}`);
  return { ...session, providerSessionId: session.providerSessionId ?? '' };
}

/** Makes the session's next step due now. */
export async function makeDue(
  { dependencies: { db } }: Pick<Platform, 'dependencies'>,
  offRampSessionId: string,
  changes: OffRampSessionChanges = {},
): Promise<void> {
  await db
    .update(offRampSessions)
    .set({ ...changes, dueAt: sql`now()` })
    .where(eq(offRampSessions.id, offRampSessionId));
}

/** Sets the manual provider's status past its rules, without a webhook. */
export async function setSilently(db: Pick<Tx, 'transaction'>, sessionId: string, status: RampStatus) {
  await db.transaction(async (tx) => {
    const session = await lockManualSession(tx, sessionId);
    if (!session) throw new Error(`there is no manual session ${sessionId}`);
    await addManualStatus(tx, session, { status, setBy: 'operator' }, new Date());
  });
}

/** Sets the provider's status and delivers its webhook. */
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
  offRampSessionId: string,
  ...states: OffRampState[]
): Promise<OffRampSession> {
  const { dependencies } = platform;
  const session = await awaitState(
    dependencies,
    offRampSessionId,
    () => findOffRampSession(dependencies, offRampSessionId),
    (current) => current !== null && states.includes(current.state),
  );
  if (!session || !states.includes(session.state)) {
    throw new Error(`the off-ramp session is ${session?.state}, not ${states.join(' or ')}`);
  }
  return session;
}

/** The session as the database stores it. */
export async function sessionOf(
  platform: Pick<Platform, 'dependencies'>,
  receiptId: string,
): Promise<OffRampSession> {
  const [session] = await platform.dependencies.db
    .select()
    .from(offRampSessions)
    .where(eq(offRampSessions.receiptId, receiptId));
  if (!session) throw new Error(`receipt ${receiptId} has no off-ramp session`);
  return session;
}

/** Makes a decision as an operator who has just read the session. */
export async function decideSession(
  deps: Platform['dependencies'],
  operatorId: string,
  input: Omit<SessionReviewInput, 'reviewVersion'>,
): Promise<OffRampSession> {
  const session = await findOffRampSession(deps, input.offRampSessionId);
  const reviewVersion = session?.reviewVersion ?? '';
  return resolveOffRampSessionReview(deps, operatorId, { ...input, reviewVersion });
}

/** Makes a decision when nothing else of the input matters. */
export function decideReviewOf(
  { dependencies }: Pick<Platform, 'dependencies'>,
  offRampSessionId: string,
  decision: SessionReviewInput['decision'],
): Promise<OffRampSession> {
  return decideSession(dependencies, 'operator', { offRampSessionId, decision, reason: 'looked at it' });
}

export function pledgeInput(
  receipt: TokenizedReceipt,
  overrides: Partial<PledgeReceiptInput> = {},
): PledgeReceiptInput {
  return {
    receiptTokenAddress: receipt.tokenAddress,
    lenderName: 'First Bank',
    lenderId: 'bank-1',
    loanReference: 'loan 7',
    idempotencyKey: randomUUID(),
    ...overrides,
  };
}
