/**
 * What is read of tokens and of the settlement contract, as of the network's final state.
 */
import type { NetworkRefusal, NetworkUnavailable } from './errors.ts';
import type { Address, BaseUnits, UnixSeconds } from './units.ts';

/** An immutable record that the token keeps of one retirement. */
export interface RetirementRecord {
  index: number;
  retiredBy: Address;
  amount: BaseUnits;
  timestamp: UnixSeconds;
  beneficiary: string;
  note: string;
}

/** A record whose transaction is asked for. */
export interface WantedTransaction extends Pick<RetirementRecord, 'index' | 'timestamp'> {
  /** Hashes from other sources, in any form: where to look, never believed. */
  hints: readonly string[];
}

export interface CarbonTotals {
  totalSupply: BaseUnits;
  totalRetired: BaseUnits;
  totalRetirements: number;
}

/** `totals` and `records` belong to one moment of the network. */
export interface RetirementPage {
  totals: CarbonTotals;
  /** Ascending by index, without gaps, from the index asked for. */
  records: RetirementRecord[];
  /**
   * How the history that this is from contradicts what was final, while that is not accepted: it may be one node's fork, so it is
   * compared, and never stored. Absent when it does not.
   */
  rewritten?: string;
}

export type TokenTemplate = 'carbon-credit' | 'commodity';

export type ReceiptStatus = 'DRAFT' | 'ACTIVE' | 'SUSPENDED' | 'REDEEMED' | 'EXPIRED';

/** Of one of many tokens: what was asked, or why it could not be answered. */
export type TokenAnswer<T> = { tokenAddress: Address } & (T | { error: NetworkRefusal | NetworkUnavailable });
export type AmountAnswer = TokenAnswer<{ amount: BaseUnits }>;
export type ExpiryAnswer = TokenAnswer<{ isExpired: boolean; status: ReceiptStatus }>;

export interface OffRampDeposit {
  depositor: Address;
  tokenAddress: Address;
  amount: BaseUnits;
  status: 'PENDING' | 'SETTLED' | 'REFUNDED' | 'RECORDED';
}

export interface SettlementContract {
  address: Address;
  /** Null when neither the contract nor an event of its factory shows it. */
  treasury: Address | null;
  paused: boolean;
}
