/**
 * Everything about a cash-out that can fail is looked at before the provider is asked for anything, because
 * what the provider has begun to pay can't be taken back.
 */
import { and, eq, isNull, lt, ne, sum } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { cashOutSessions } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import { NetworkRefusal, type LedgerNetwork, type SettlementContract } from '../ledger/network/port.ts';
import { BASE_UNITS_PER_WHOLE, toBaseUnits } from '../ledger/units.ts';

export interface CashOutPlan {
  /** Our reference. */
  id: string;
  receiptId: string;
  tokenAddress: string;
  tokenAmountKg: bigint;
}

/**
 * @throws DomainError CONFLICT (no settlement contract), RECEIPT_EXPIRED, INSUFFICIENT_BALANCE, LEDGER_REJECTED
 * (paused, or the simulated deposit was refused); NetworkUnavailable
 */
export async function checkCashOut(
  deps: { db: Db; network: LedgerNetwork },
  plan: CashOutPlan,
): Promise<{ settlement: SettlementContract; custodyBalance: bigint }> {
  const { network } = deps;
  const { tokenAddress } = plan;
  const [settlement, [expiry], balance, promisedKg] = await Promise.all([
    network.settlementContract(),
    network.expiryOf([tokenAddress]),
    network.balanceOf(tokenAddress, network.custodyAddress),
    readPromisedKg(deps.db, plan.receiptId, plan.id),
  ]);
  if (settlement === null) throw noSettlement();
  if (settlement.paused) {
    throw new DomainError(
      'LEDGER_REJECTED',
      `The settlement contract ${settlement.address} is paused: it takes no deposits at the moment.`,
      { reason: 'PAUSED' },
    );
  }
  if (!expiry || 'error' in expiry) throw expiry?.error ?? new Error(`no answer about ${tokenAddress}`);
  if (expiry.isExpired || expiry.status === 'EXPIRED') throw receiptExpired(tokenAddress);
  requireBalance(network.custodyAddress, plan, balance, promisedKg);
  await simulateDeposit(network, plan, network.custodyAddress);
  return { settlement, custodyBalance: balance };
}

export function receiptExpired(tokenAddress: string): DomainError {
  return new DomainError(
    'RECEIPT_EXPIRED',
    `The receipt at ${tokenAddress} has passed its expiry date; it can't be cashed out any more.`,
    { field: 'input.receiptTokenAddress' },
  );
}

/**
 * Kilograms of the receipt that sessions will deposit, but have not yet.
 * @param beforeId counts older sessions alone: of two that together want too much, the later one gives way.
 */
export async function readPromisedKg(
  db: Pick<Db, 'select'>,
  receiptId: string,
  beforeId?: string,
): Promise<bigint> {
  const [row] = await db
    .select({ promised: sum(cashOutSessions.tokenAmountKg) })
    .from(cashOutSessions)
    .where(
      and(
        eq(cashOutSessions.receiptId, receiptId),
        isNull(cashOutSessions.depositedAt),
        ne(cashOutSessions.state, 'REFUSED'),
        // Ids follow time.
        beforeId === undefined ? undefined : lt(cashOutSessions.id, beforeId),
      ),
    );
  return BigInt(row?.promised ?? 0);
}

/** @param custodyBalance base units */
export function requireBalance(
  custodyAddress: string,
  plan: CashOutPlan,
  custodyBalance: bigint,
  promisedKg: bigint,
): void {
  const available = custodyBalance / BASE_UNITS_PER_WHOLE - promisedKg;
  if (available >= plan.tokenAmountKg) return;
  throw new DomainError(
    'INSUFFICIENT_BALANCE',
    `${plan.tokenAmountKg} kg were to be cashed out, but the custody signer ${custodyAddress} holds ` +
      `${available > 0n ? available : 0n} kg of token ${plan.tokenAddress} that no other cash-out has a claim to. ` +
      `It deposits what it holds itself: transfer the receipt tokens to that address first, then try again.`,
    {
      field: 'input.tokenAmount',
      requested: plan.tokenAmountKg.toString(),
      available: (available > 0n ? available : 0n).toString(),
      custodyAddress,
    },
  );
}

/** Finds what can't be read, such as a paused token. */
async function simulateDeposit(network: LedgerNetwork, plan: CashOutPlan, depositor: string): Promise<void> {
  const { id: sessionId, tokenAddress, tokenAmountKg } = plan;
  try {
    const amount = toBaseUnits(tokenAmountKg);
    await network.checkDeposit({ kind: 'initiateOffRamp', sessionId, tokenAddress, amount }, depositor);
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    throw new DomainError('LEDGER_REJECTED', `The network would refuse the deposit: ${error.message}`, {
      reason: error.reason,
    });
  }
}

function noSettlement(): DomainError {
  return new DomainError(
    'CONFLICT',
    'There is no settlement contract to give the tokens to. An operator deploys one with deployRampSettlement ' +
      'and names it to the server by RAMP_SETTLEMENT_ADDRESS.',
  );
}
