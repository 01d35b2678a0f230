/**
 * Channel accounts: accounts that lend their sequences to custody, so that more writes are under way at a time.
 * `npm run ledger:channels` makes them and tops them up, on networks that have a use for them.
 */
import type { CheckIdentity } from './nodeIdentity.ts';
import type { Address } from './port.ts';

export interface ChannelState {
  address: Address;
  /** Null when there is no such account yet. */
  balanceStroops: bigint | null;
  /** Without what the account must keep. */
  spendableStroops: bigint;
}

export interface FundingOptions {
  /** What each has afterwards. */
  startingBalanceStroops: bigint;
  /** One with less is topped up; 0 by default, so none. */
  topUpBelowStroops?: bigint;
  /** Told before each transaction is sent, as custody's sequence is used up by it. */
  beforeSending: (sequenceUsed: bigint) => Promise<void>;
  wait: (milliseconds: number) => Promise<void>;
}

export interface ChannelAccounts {
  custodyAddress: Address;
  /** Keys of the channels that are configured. */
  configuredKeys: readonly string[];
  checkIdentity: CheckIdentity;
  /** In the order of the keys. @throws NetworkUnavailable */
  read(secretKeys: readonly string[]): Promise<ChannelState[]>;
  /** @returns the addresses that were made or topped up. @throws Error when the network refuses it */
  fund(secretKeys: readonly string[], funding: FundingOptions): Promise<Address[]>;
}
