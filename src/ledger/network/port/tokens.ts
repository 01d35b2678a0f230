/**
 * Types of reads of tokens and of the settlement contract, as of the network's final state.
 */
import type { NetworkError } from './errors.ts';
import type { Address, BaseUnits, UnixSeconds } from './units.ts';

/** An immutable record that the token keeps of one retirement. */
export interface RetirementRecord {
  /** Its place within the token, from 0 without gaps. */
  index: number;
  retiredBy: Address;
  amount: BaseUnits;
  timestamp: UnixSeconds;
  beneficiary: string;
  note: string;
}

/** A record whose transaction is wanted. */
export interface WantedTransaction extends Pick<RetirementRecord, 'index' | 'timestamp'> {
  /** Hashes from other sources, in any form. They say where to look, and prove nothing. */
  hints: readonly string[];
}

/** One token's sums, of one moment of the network. */
export interface CarbonTotals {
  /** In circulation: minted and not retired. */
  totalSupply: BaseUnits;
  totalRetired: BaseUnits;
  /** The number of retirement records, which is also the index of the next one. */
  totalRetirements: number;
}

/** A page of records; `totals` and `records` belong to one moment of the network. */
export interface RetirementPage {
  totals: CarbonTotals;
  /** Ascending by index, without gaps, from the index asked for. May end before the last one asked for. */
  records: RetirementRecord[];
  /**
   * How the history of this page contradicts the history that was final, until it is accepted. It may be one
   * node's fork, so the page may be compared but must never be stored. Absent if nothing contradicts.
   */
  rewritten?: string;
}

export type TokenTemplate = 'carbon-credit' | 'commodity';

/** In the order of the contracts' numbers. */
export const RECEIPT_STATUSES = ['DRAFT', 'ACTIVE', 'SUSPENDED', 'REDEEMED', 'EXPIRED'] as const;
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

/** One token's part of a batched answer: the value, or the error for this token. */
export type TokenAnswer<T> = { tokenAddress: Address } & (T | { error: NetworkError });
export type AmountAnswer = TokenAnswer<{ amount: BaseUnits }>;
export type ExpiryAnswer = TokenAnswer<{ isExpired: boolean; status: ReceiptStatus }>;

/** In the order of the contracts' numbers, from 1; 0 means that there is no deposit. */
export const DEPOSIT_STATUSES = ['PENDING', 'SETTLED', 'REFUNDED', 'RECORDED'] as const;

/** What the settlement contract holds, or held, under one session's reference. */
export interface OffRampDeposit {
  depositor: Address;
  tokenAddress: Address;
  amount: BaseUnits;
  status: (typeof DEPOSIT_STATUSES)[number];
}

export interface SettlementContract {
  address: Address;
  /** Null when neither the contract nor an event of its factory shows it. */
  treasury: Address | null;
  paused: boolean;
}
