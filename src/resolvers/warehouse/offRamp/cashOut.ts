/**
 * cashOut: moves a farmer's receipt tokens to the settlement contract, and fiat money to the farmer. Custody
 * deposits the tokens, or a holder who signs (prepareCashOutDeposit.ts).
 *
 *   checks ─▶ quote ─▶ session OPENING, its reference and quote stored (one transaction)
 *          ─▶ opened at the provider ─▶ deposited ─▶ the provider pays, or not ─▶ released, or refunded
 *
 * The steps after the stored intent are in stepOffRampSession.ts (the provider) and offRampEffects.ts (the
 * network). They run whether or not a client waits.
 */
import { and, eq, inArray, sql } from 'drizzle-orm';
import { lockName } from '../../../db/advisoryLock.ts';
import type { Tx } from '../../../db/connection.ts';
import { TRANSACTION_TIME } from '../../../db/databaseTime.ts';
import { lockById } from '../../../db/findByIds.ts';
import { offRampSessions, receipts } from '../../../db/tables/index.ts';
import { DomainError, ERROR_CODES, type ErrorCode } from '../../../lib/errors.ts';
import type { Address } from '../../../ledger/network/port.ts';
import type { PayoutAccount, Quote } from '../../../ramp/port.ts';
import { awaitState, readRefusalReason } from '../../core/awaitState.ts';
import { OFF_RAMP_SESSIONS } from './offRampMoves.ts';
import { checkCashOut, type CashOutPlan } from './checkCashOut.ts';
import { readClaims, requireFree, type Holding } from './holding.ts';
import type { Needs } from '../../core/dependencies.ts';
import { requireUnpledged } from '../findPledge.ts';
import { requireOffRampSession, type OffRampSession, type OffRampState } from './findOffRampSession.ts';
import {
  requireActive,
  requireOwnReceipt,
  type ReceiptCaller,
  type TokenizedReceipt,
} from '../findReceipt.ts';
import { dryRun } from '../../core/dryRun.ts';
import { findFirstUseOrBegin, reserveKey, type IdempotentRequest } from '../../core/idempotency.ts';
import { maskAccountNumber, payoutAccountTypeOf } from './payoutAccount.ts';
import { quoteOffRamp } from '../quoteOffRamp.ts';
import { pollSoon } from './stepHolderDeposit.ts';

type BeginNeeds = Needs<'db' | 'network' | 'ramp' | 'ids' | 'payoutAccounts'>;
type CashOutNeeds = Needs<keyof BeginNeeds | 'stateSignal' | 'mutationWaitMs'>;

export interface CashOutInput {
  /** Whole kilograms. */
  tokenAmount: bigint;
  fiatCurrency: string;
  countryCode: string;
  payoutAccount: PayoutAccount;
  receiptTokenAddress: string;
  idempotencyKey: string;
}

interface Order {
  input: CashOutInput;
  /** The holder who signs the deposit, at their own address; null when custody deposits. */
  holder: Address | null;
}

/**
 * States in which the caller waits: until the deposit has landed, or the holder can sign it. The rest of an
 * off-ramp session takes as long as the payout, and no caller waits for that.
 */
const UNDER_WAY: Readonly<Record<OffRampSession['depositor'], readonly OffRampState[]>> = {
  CUSTODY: ['OPENING', 'DEPOSITING', 'CLOSING'],
  HOLDER: ['OPENING'],
};

/** Maximum unsigned sessions of a holder; each is a session at the provider. */
const MAX_UNSIGNED = 20;

/**
 * @param holder who signs the deposit, at their own address; null when custody deposits.
 * @returns the session in the state reached when the wait ended.
 * @throws DomainError NOT_FOUND, RECEIPT_EXPIRED, RECEIPT_PLEDGED, CONFLICT, INSUFFICIENT_BALANCE,
 *   LEDGER_REFUSED, RAMP_REFUSED, RAMP_UNAVAILABLE, IDEMPOTENCY_CONFLICT; NetworkUnavailable
 */
export async function cashOut(
  deps: CashOutNeeds,
  caller: ReceiptCaller,
  input: CashOutInput,
  holder: Address | null = null,
): Promise<OffRampSession> {
  const receipt = await requireOwnReceipt(deps, caller, input.receiptTokenAddress);
  const request = idempotentRequest(deps, caller, receipt, { input, holder });
  // The key is looked up before the checks: the first use has deposited the tokens that they look for.
  const sessionId = await findFirstUseOrBegin(deps.db, request, () =>
    begin(deps, caller, receipt, request, { input, holder }),
  );
  for (const key of [receipt.id, OFF_RAMP_SESSIONS]) deps.stateSignal.notify(key);

  const session = await awaitState(
    deps,
    sessionId,
    () => requireOffRampSession(deps, sessionId),
    (current) => !UNDER_WAY[current.depositor].includes(current.state) || isStopped(current),
  );
  if (!isStopped(session)) return session;
  await pollSoon(deps, session);
  throw await stopped(deps, session);
}

/** Whether the session has failed; it may still be looked up at the provider, which may have opened it. */
function isStopped({ state, stateReason }: OffRampSession): boolean {
  return state === 'CLOSED' || (state === 'OPENING' && stateReason !== null);
}

async function begin(
  deps: BeginNeeds,
  caller: ReceiptCaller,
  receipt: TokenizedReceipt,
  request: IdempotentRequest,
  { input, holder }: Order,
): Promise<string> {
  const { plan, settlement, quote, requireUnderLock } = await planCashOut(deps, receipt, input, holder);
  const { id } = plan;
  const { countryCode, payoutAccount } = input;
  const { fiatCurrency, fiatAmount, fiatFee, feeBps, exchangeRate } = quote;
  const session = {
    ...plan,
    countryCode,
    payoutAccountType: payoutAccountTypeOf(payoutAccount),
    maskedAccountNumber: maskAccountNumber(payoutAccount.accountNumber),
    sealedPayoutAccount: deps.payoutAccounts.seal(payoutAccount, id),
    fiatCurrency,
    fiatAmount,
    fiatFee,
    feeBps,
    exchangeRate,
    providerName: deps.ramp.name,
    dueAt: sql`now()`,
    createdAt: TRANSACTION_TIME,
    state: 'OPENING',
    requestedBy: caller.subject,
    farmerId: receipt.farmerId,
    settlementAddress: settlement.address,
    depositor: holder === null ? 'CUSTODY' : 'HOLDER',
    quoteExpiresAt: quote.expiresAt,
    signatureDueAt: holder === null ? null : quote.expiresAt,
  } as const;
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, id);
    if (first !== null) return first;
    await requireUnderLock(tx);
    await tx.insert(offRampSessions).values(session);
    return id;
  });
}

/**
 * Makes every check of a cash-out from custody, or by a holder, and changes nothing.
 * @throws the same errors as cashOut, except IDEMPOTENCY_CONFLICT
 */
export async function dryRunCashOut(
  deps: BeginNeeds,
  caller: ReceiptCaller,
  input: CashOutInput,
  holder: Address | null = null,
): Promise<Quote> {
  const receipt = await requireOwnReceipt(deps, caller, input.receiptTokenAddress);
  const { quote, requireUnderLock } = await planCashOut(deps, receipt, input, holder);
  return dryRun(deps.db, async (tx) => {
    await requireUnderLock(tx);
    return quote;
  });
}

/**
 * Makes every check that needs no lock, and gets the quote. The checks that need locks come last, in the
 * transaction of the effect or of a dry run: `requireUnderLock`.
 */
async function planCashOut(
  deps: BeginNeeds,
  receipt: TokenizedReceipt,
  input: CashOutInput,
  holder: Address | null,
) {
  requireActive(receipt);
  const plan = {
    id: deps.ids.next(),
    receiptId: receipt.id,
    tokenAddress: receipt.tokenAddress,
    tokenAmountKg: input.tokenAmount,
    depositorAddress: holder ?? deps.network.custodyAddress,
  };
  const { settlement, holding } = await checkCashOut(deps, plan);
  const requireUnderLock = async (tx: Tx) => {
    await requireLeft(tx, deps, receipt, plan, holding);
    if (holder !== null) await requireFewUnsigned(tx, holder, receipt.farmerId);
  };
  return { plan, settlement, quote: await quoteInput(deps, input), requireUnderLock };
}

/** A provider's error names an argument of the query offRampQuote, which is a member of the input here. */
async function quoteInput(deps: Needs<'db' | 'ramp'>, input: CashOutInput): Promise<Quote> {
  try {
    const { tokenAmount, fiatCurrency, countryCode, payoutAccount } = input;
    const asked = { tokenAmount, fiatCurrency, countryCode, payoutAccountType: payoutAccount.type };
    return await quoteOffRamp(deps, asked);
  } catch (error) {
    if (!(error instanceof DomainError) || typeof error.details.field !== 'string') throw error;
    const details = { ...error.details, field: `input.${error.details.field}` };
    throw new DomainError(error.code, error.message, details, { cause: error });
  }
}

/** Sessions of one receipt are checked one by one, so that together they don't promise more than it has. */
async function requireLeft(
  tx: Tx,
  deps: Needs<'network'>,
  receipt: TokenizedReceipt,
  plan: CashOutPlan,
  holding: Holding,
): Promise<void> {
  await lockById(tx, receipts, receipt.id);
  const [, claims] = await Promise.all([
    requireUnpledged({ db: tx }, receipt),
    readClaims(tx, plan, 'all', holding.landedIds),
  ]);
  requireFree(deps.network, plan, holding, claims);
}

/**
 * Limits each farmer separately. Any farmer may name an address that holds tokens of theirs, and anyone can
 * send tokens to an address. One farmer must not use up what the address's owner may have.
 */
async function requireFewUnsigned(tx: Tx, holder: Address, farmerId: string | null): Promise<void> {
  // Sessions of other receipts count too, and their transactions don't lock this receipt.
  await lockName(tx, `unsigned:${holder}`);
  const unsigned = await tx.$count(
    offRampSessions,
    and(
      eq(offRampSessions.depositorAddress, holder),
      sql`${offRampSessions.farmerId} IS NOT DISTINCT FROM ${farmerId}`,
      inArray(offRampSessions.state, ['OPENING', 'AWAITING_SIGNATURE']),
    ),
  );
  if (unsigned < MAX_UNSIGNED) return;
  throw new DomainError(
    'CONFLICT',
    `${unsigned} off-ramp sessions of ${holder} wait for a signature, and ${MAX_UNSIGNED} at most may: sign one of them first, ` +
      'or let it run out.',
    { field: 'input.holderAddress' },
  );
}

function idempotentRequest(
  deps: Needs<'payoutAccounts'>,
  caller: ReceiptCaller,
  { tokenAddress: receiptTokenAddress }: TokenizedReceipt,
  { input, holder }: Order,
): IdempotentRequest {
  const { idempotencyKey, payoutAccount, ...rest } = input;
  return {
    callerSubject: caller.subject,
    operation: holder === null ? 'cashOut' : 'prepareCashOutDeposit',
    key: idempotencyKey,
    input: {
      ...rest,
      receiptTokenAddress,
      payoutAccount: deps.payoutAccounts.fingerprint(payoutAccount),
      holder,
    },
  };
}

async function stopped(deps: Needs<'db'>, session: OffRampSession): Promise<DomainError> {
  const code = session.refusalCode ?? '';
  const known: ErrorCode = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : 'LEDGER_REFUSED';
  return new DomainError(
    known,
    `The off-ramp session does not go on, and no tokens were taken: ${session.stateReason}`,
    {
      offRampSessionId: session.id,
      ...(known === 'LEDGER_REFUSED' && { reason: await readRefusalReason(deps, session.id) }),
    },
  );
}
