/**
 * The beginning of a cash-out, whoever deposits: everything that can fail is checked, and the session is stored with
 * its frozen quote and our reference, before the provider is asked for anything.
 */
import { and, eq, inArray } from 'drizzle-orm';
import type { Tx } from '../db/connection.ts';
import { cashOutSessions, receipts } from '../db/schema/index.ts';
import { DomainError, ERROR_CODES, type ErrorCode } from '../errors.ts';
import type { Address } from '../ledger/network/port.ts';
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
import { lookSoon } from './stepHolderCashOut.ts';

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

export interface CashOutOrder {
  /** Keys belong to their operation. */
  operation: 'cashOut' | 'prepareCashOutDeposit';
  input: CashOutInput;
  /** Who signs the deposit from an address of their own; null when custody deposits. */
  holder: Address | null;
  /** States that the caller does not wait out, as far as the wait goes. */
  waitWhile: ReadonlySet<CashOutState>;
}

/** A holder who has more to sign than this should sign first: each is a session at the provider. */
const MAX_UNSIGNED = 20;

/**
 * @returns the session in the state reached when the wait ended.
 * @throws DomainError NOT_FOUND, RECEIPT_EXPIRED, CONFLICT, INSUFFICIENT_BALANCE, LEDGER_REJECTED, RAMP_REJECTED,
 * RAMP_UNAVAILABLE, IDEMPOTENCY_CONFLICT; NetworkUnavailable
 */
export async function beginCashOut(
  deps: Dependencies,
  caller: CashOutCaller,
  order: CashOutOrder,
): Promise<CashOut> {
  const receipt = await requireOwnReceipt(deps, caller, order.input.receiptTokenAddress);
  const request = idempotentRequest(deps, caller, order);
  // Before the checks: what the first use has deposited is not there for a second one.
  const sessionId =
    (await findFirstUse(deps.db, request)) ?? (await begin(deps, caller, receipt, request, order));
  deps.subjects.ring(CASH_OUTS);

  const session = await awaitSubject(
    deps,
    sessionId,
    async () => {
      const current = await findCashOut(deps, sessionId);
      if (!current) throw new Error(`cash-out session ${sessionId} has vanished`);
      return current;
    },
    ({ state }) => !order.waitWhile.has(state),
  );
  if (session.state !== 'REFUSED') return session;
  await lookSoon(deps, session);
  throw refused(session);
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
  { input, holder }: CashOutOrder,
): Promise<string> {
  requireActive(receipt);
  const id = deps.ids.next();
  const plan = {
    id,
    receiptId: receipt.id,
    tokenAddress: receipt.tokenAddress,
    tokenAmountKg: input.tokenAmount,
    depositorAddress: holder ?? deps.network.custodyAddress,
  };
  const { settlement, balance } = await checkCashOut(deps, plan);
  const quote = await quoteOffRamp(deps, input);
  const session = {
    ...plan,
    ...termsOf(deps, input, quote),
    state: 'OPENING',
    requestedBy: caller.subject,
    farmerId: receipt.farmerId,
    settlementAddress: settlement.address,
    signUntil: holder === null ? null : quote.expiresAt,
  } as const;
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, id, session.createdAt);
    if (first !== null) return first;
    // Cash-outs of one receipt take turns, so that together they don't promise more than is there.
    await tx.select({ id: receipts.id }).from(receipts).where(eq(receipts.id, receipt.id)).for('update');
    if (holder !== null) await requireFewUnsigned(tx, holder);
    requireBalance(deps.network, plan, balance, await readPromisedKg(tx, plan));
    await tx.insert(cashOutSessions).values(session);
    return id;
  });
}

async function requireFewUnsigned(tx: Tx, holder: Address): Promise<void> {
  const unsigned = await tx.$count(
    cashOutSessions,
    and(
      eq(cashOutSessions.depositorAddress, holder),
      inArray(cashOutSessions.state, ['OPENING', 'AWAITING_SIGNATURE']),
    ),
  );
  if (unsigned < MAX_UNSIGNED) return;
  throw new DomainError(
    'CONFLICT',
    `${unsigned} cash-outs of ${holder} wait for a signature, and ${MAX_UNSIGNED} at most may: sign one of them first, ` +
      'or let it run out.',
    { field: 'input.holder' },
  );
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

function termsOf(deps: Dependencies, input: CashOutInput, quote: Quote) {
  const { payoutAccount } = input;
  const now = deps.clock.now();
  return {
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
  { operation, input, holder }: CashOutOrder,
): IdempotentRequest {
  const { idempotencyKey, payoutAccount, ...rest } = input;
  return {
    callerId: caller.subject,
    operation,
    key: idempotencyKey,
    input: {
      ...rest,
      payoutAccount: fingerprintAccount(deps.saltKey, payoutAccount),
      ...(holder === null ? {} : { holder }),
    },
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
