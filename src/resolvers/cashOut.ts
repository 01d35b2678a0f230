/**
 * cashOut: a farmer's receipt tokens go into custody of the settlement contract, and fiat to the farmer.
 *
 *   checks ─▶ quote ─▶ session OPENING, its reference and quote stored (one transaction)
 *          ─▶ opened at the provider ─▶ deposited ─▶ the provider pays, or not ─▶ released, or refunded
 *
 * What follows the stored intent is in stepCashOut.ts (the provider) and settlementEffects.ts (the network), and
 * goes on whether anyone waits or not.
 */
import { eq } from 'drizzle-orm';
import { cashOutSessions, receipts } from '../db/schema/index.ts';
import { DomainError, ERROR_CODES, type ErrorCode } from '../errors.ts';
import type { SettlementContract } from '../ledger/network/port.ts';
import type { PayoutAccount, Quote } from '../ramp/port.ts';
import { awaitSubject } from './awaitSubject.ts';
import { CASH_OUTS } from './cashOutMoves.ts';
import { checkCashOut, readPromisedKg, receiptExpired, requireBalance } from './checkCashOut.ts';
import type { Dependencies } from './dependencies.ts';
import { findCashOut, type CashOut, type CashOutState } from './findCashOut.ts';
import { findReceiptByToken, receiptNotFound, type TokenizedReceipt } from './findReceipt.ts';
import { findFirstUse, reserveKey, type IdempotentRequest } from './idempotency.ts';
import { fingerprintAccount, maskAccountNumber, sealAccount } from './payoutAccount.ts';
import { quoteOffRamp } from './quoteOffRamp.ts';

export interface CashOutInput {
  /** Whole kilograms. */
  tokenAmount: bigint;
  fiatCurrency: string;
  countryCode: string;
  payoutAccount: PayoutAccount;
  receiptTokenAddress: string;
  idempotencyKey: string;
}

export interface CashOutCaller {
  subject: string;
  /** Operators may cash out for a farmer; farmers their own receipts alone. */
  isOperator: boolean;
}

/** The rest of a cash-out takes as long as the payout does; nobody waits for that. */
const UNDER_WAY = new Set<CashOutState>(['OPENING', 'DEPOSITING', 'CLOSING']);

/**
 * @returns the session in the state reached when the wait ended: AWAITING_PAYOUT or further, or still on its way.
 * @throws DomainError NOT_FOUND, RECEIPT_EXPIRED, CONFLICT, INSUFFICIENT_BALANCE, LEDGER_REJECTED, RAMP_REJECTED,
 * RAMP_UNAVAILABLE, IDEMPOTENCY_CONFLICT; NetworkUnavailable
 */
export async function cashOut(
  deps: Dependencies,
  caller: CashOutCaller,
  input: CashOutInput,
): Promise<CashOut> {
  const receipt = await requireOwnReceipt(deps, caller, input.receiptTokenAddress);
  const request = idempotentRequest(deps, caller, input);
  // Before the checks: what the first use has deposited is not there for a second one.
  const sessionId =
    (await findFirstUse(deps.db, request)) ?? (await begin(deps, caller, receipt, request, input));
  deps.subjects.ring(CASH_OUTS);

  const session = await awaitSubject(
    deps,
    sessionId,
    async () => {
      const current = await findCashOut(deps, sessionId);
      if (!current) throw new Error(`cash-out session ${sessionId} has vanished`);
      return current;
    },
    ({ state }) => !UNDER_WAY.has(state),
  );
  if (session.state === 'REFUSED') throw refused(session);
  return session;
}

async function requireOwnReceipt(
  deps: Dependencies,
  caller: CashOutCaller,
  tokenAddress: string,
): Promise<TokenizedReceipt> {
  const receipt = await findReceiptByToken(deps, tokenAddress);
  if (!receipt || (!caller.isOperator && receipt.farmerId !== caller.subject)) {
    throw receiptNotFound(tokenAddress);
  }
  return receipt;
}

async function begin(
  deps: Dependencies,
  caller: CashOutCaller,
  receipt: TokenizedReceipt,
  request: IdempotentRequest,
  input: CashOutInput,
): Promise<string> {
  requireActive(receipt);
  const id = deps.ids.next();
  const plan = {
    id,
    receiptId: receipt.id,
    tokenAddress: receipt.tokenAddress,
    tokenAmountKg: input.tokenAmount,
  };
  const { settlement, custodyBalance } = await checkCashOut(deps, plan);
  const quote = await quoteOffRamp(deps, input);
  const session = sessionOf(deps, { id, caller, receipt, settlement, quote, input });
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, id, session.createdAt);
    if (first !== null) return first;
    // Cash-outs of one receipt take turns, so that together they don't promise more than is there.
    await tx.select({ id: receipts.id }).from(receipts).where(eq(receipts.id, receipt.id)).for('update');
    const promisedKg = await readPromisedKg(tx, receipt.id);
    requireBalance(deps.network.custodyAddress, plan, custodyBalance, promisedKg);
    await tx.insert(cashOutSessions).values(session);
    return id;
  });
}

function requireActive(receipt: TokenizedReceipt): void {
  if (receipt.state === 'EXPIRED') throw receiptExpired(receipt.tokenAddress);
  if (receipt.state === 'ACTIVE') return;
  throw new DomainError(
    'CONFLICT',
    `The receipt at ${receipt.tokenAddress} is ${receipt.state}; only an ACTIVE receipt can be cashed out.`,
    { field: 'input.receiptTokenAddress', state: receipt.state },
  );
}

function sessionOf(
  deps: Dependencies,
  about: {
    id: string;
    caller: CashOutCaller;
    receipt: TokenizedReceipt;
    settlement: SettlementContract;
    quote: Quote;
    input: CashOutInput;
  },
) {
  const { id, caller, receipt, settlement, quote, input } = about;
  const { payoutAccount } = input;
  const now = deps.clock.now();
  return {
    id,
    state: 'OPENING',
    receiptId: receipt.id,
    tokenAddress: receipt.tokenAddress,
    tokenAmountKg: input.tokenAmount,
    requestedBy: caller.subject,
    farmerId: receipt.farmerId,
    depositorAddress: deps.network.custodyAddress,
    settlementAddress: settlement.address,
    countryCode: input.countryCode,
    payoutAccountType: payoutAccount.type === 'bank' ? 'BANK' : 'MOBILE_MONEY',
    sealedPayoutAccount: sealAccount(deps.sealer, payoutAccount),
    maskedAccountNumber: maskAccountNumber(payoutAccount.accountNumber),
    fiatCurrency: quote.fiatCurrency,
    fiatAmount: quote.fiatAmount,
    feeFiat: quote.feeFiat,
    feeBps: quote.feeBps,
    exchangeRate: quote.exchangeRate,
    quoteExpiresAt: quote.expiresAt,
    providerName: deps.ramp.name,
    dueAt: now,
    createdAt: now,
  } as const;
}

function idempotentRequest(
  deps: Pick<Dependencies, 'saltKey'>,
  caller: CashOutCaller,
  input: CashOutInput,
): IdempotentRequest {
  const { idempotencyKey, payoutAccount, ...rest } = input;
  return {
    callerId: caller.subject,
    operation: 'cashOut',
    key: idempotencyKey,
    input: { ...rest, payoutAccount: fingerprintAccount(deps.saltKey, payoutAccount) },
  };
}

function refused(session: CashOut): DomainError {
  const code = session.refusalCode ?? '';
  const known: ErrorCode = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : 'LEDGER_REJECTED';
  return new DomainError(
    known,
    `The cash-out was refused, and no tokens were taken: ${session.refusalMessage}`,
    {
      sessionId: session.id,
    },
  );
}
