/**
 * Checks everything about an off-ramp session that can fail before the provider is asked for a session,
 * because a payout that the provider has begun can't be taken back.
 */
import type { Db, Tx } from '../../../db/connection.ts';
import { lockById } from '../../../db/findByIds.ts';
import { receipts } from '../../../db/tables/index.ts';
import { DomainError } from '../../../lib/errors.ts';
import {
  NetworkRefusal,
  type Address,
  type LedgerNetwork,
  type SettlementContract,
} from '../../../ledger/network/port.ts';
import type { RampStatus } from '../../../ramp/port.ts';
import { receiptExpired } from '../findReceipt.ts';
import type { OffRampSession } from './findOffRampSession.ts';
import { requireUnpledged } from '../findPledge.ts';
import { toBaseUnits } from '../../../ledger/units.ts';
import { readClaims, requireHolding, requireUnpaid, type Holding } from './holding.ts';

export interface CashOutPlan {
  /** Our reference of the session. */
  id: string;
  receiptId: string;
  tokenAddress: string;
  tokenAmountKg: bigint;
  /** Custody, or a holder who signs. */
  depositorAddress: string;
  /** The contract that a stored session belongs to. */
  settlementAddress?: Address;
}

/**
 * @returns the settlement contract, and what the depositor holds.
 * @throws DomainError CONFLICT (no settlement contract, or another one), RECEIPT_EXPIRED, INSUFFICIENT_BALANCE,
 *   LEDGER_REFUSED (paused, or the simulated deposit was refused); NetworkUnavailable
 */
export async function checkCashOut(
  deps: { db: Db; network: LedgerNetwork },
  plan: CashOutPlan,
): Promise<{ settlement: SettlementContract; holding: Holding }> {
  const { network } = deps;
  const [settlement, , holding] = await Promise.all([
    network.settlementContract(),
    requireUnexpired(network, plan.tokenAddress),
    requireHolding(deps, plan),
  ]);
  if (settlement === null) throw noSettlement();
  const mismatch =
    plan.settlementAddress === undefined ? null : mismatchOf(settlement, plan.settlementAddress);
  if (mismatch !== null)
    throw new DomainError('CONFLICT', `Nothing can be deposited for it now: ${mismatch}.`);
  if (settlement.paused) {
    throw new DomainError(
      'LEDGER_REFUSED',
      `The settlement contract ${settlement.address} is paused: it takes no deposits at the moment.`,
      { reason: 'PAUSED' },
    );
  }
  await simulateDeposit(network, plan);
  return { settlement, holding };
}

/** @throws DomainError RECEIPT_EXPIRED */
export async function requireUnexpired(
  network: Pick<LedgerNetwork, 'expiryOf'>,
  tokenAddress: string,
): Promise<void> {
  const [expiry] = await network.expiryOf([tokenAddress]);
  if (!expiry || 'error' in expiry) throw expiry?.error ?? new Error(`no answer about ${tokenAddress}`);
  if (expiry.isExpired || expiry.status === 'EXPIRED') throw receiptExpired(tokenAddress);
}

/**
 * For a session that is deposited after all, because it was paid. While it was CLOSED, its receipt could be
 * pledged, and its kilograms cashed out by another session, which has passed this check and may deposit at
 * any time. Locks the receipt.
 * @throws DomainError RECEIPT_PLEDGED, INSUFFICIENT_BALANCE
 */
export async function requireStillFree(
  tx: Tx,
  network: Pick<LedgerNetwork, 'custodyAddress'>,
  session: CashOutPlan,
): Promise<void> {
  const { receiptId, tokenAddress } = session;
  await lockById(tx, receipts, receiptId);
  await requireUnpledged({ db: tx }, { id: receiptId, tokenAddress });
  requireUnpaid(network, session, await readClaims(tx, session, 'all'));
}

/** Describes a payout without a deposit that is not custody's to make. */
export function describeUndeposited(
  { cancelRequestedAt }: Pick<OffRampSession, 'cancelRequestedAt'>,
  status: RampStatus,
): string {
  const what =
    cancelRequestedAt === null
      ? 'the holder has deposited nothing'
      : 'the session was cancelled, and nothing was deposited';
  return `the provider says "${status}", but ${what}`;
}

/**
 * Why custody must not deposit for a paid session without an operator: the deposit is a holder's, or was
 * cancelled, or its receipt may have been pledged or cashed out while the session was closed, before a RETRY.
 * Null when nothing prevents the deposit.
 */
export async function obstacleToDeposit(
  tx: Tx,
  network: Pick<LedgerNetwork, 'custodyAddress'>,
  session: OffRampSession,
): Promise<string | null> {
  if (session.depositor !== 'CUSTODY' || session.cancelRequestedAt !== null)
    return describeUndeposited(session, 'settled');
  try {
    await requireStillFree(tx, network, session);
    return null;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return `the provider says "settled", but nothing is to be deposited: ${error.message}`;
  }
}

/** @throws DomainError CONFLICT when a deposit signed now would go to another settlement contract */
export async function requireSettlementOf(
  network: Pick<LedgerNetwork, 'settlementContract'>,
  session: { settlementAddress: string },
): Promise<void> {
  const mismatch = await settlementMismatch(network, session);
  if (mismatch !== null) throw new DomainError('CONFLICT', `Nothing can be signed for it now: ${mismatch}.`);
}

/**
 * A session belongs to the settlement contract that it was opened for; another contract has no record of it.
 */
export async function settlementMismatch(
  network: Pick<LedgerNetwork, 'settlementContract'>,
  session: { settlementAddress: string },
): Promise<string | null> {
  return mismatchOf(await network.settlementContract(), session.settlementAddress);
}

function mismatchOf(settlement: SettlementContract | null, settlementAddress: Address): string | null {
  if (settlement?.address === settlementAddress) return null;
  return (
    `the session belongs to the settlement contract ${settlementAddress}, ` +
    `but RAMP_SETTLEMENT_ADDRESS names ${settlement?.address ?? 'none'}`
  );
}

/** Simulates the deposit, to find obstacles that can't be read, such as a paused token. */
async function simulateDeposit(network: LedgerNetwork, plan: CashOutPlan): Promise<void> {
  const { id: sessionId, tokenAddress, tokenAmountKg, depositorAddress } = plan;
  try {
    const amount = toBaseUnits(tokenAmountKg);
    const call = { kind: 'depositOffRamp', sessionId, tokenAddress, amount } as const;
    await network.checkDeposit(call, depositorAddress);
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    throw new DomainError('LEDGER_REFUSED', `The network would refuse the deposit: ${error.message}`, {
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
