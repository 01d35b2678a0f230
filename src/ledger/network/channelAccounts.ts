/**
 * Channel accounts: accounts that lend their sequences to custody, so that more writes are under way at a
 * time. `npm run ledger:channels` creates them and tops them up, on networks that use them.
 */
import type { CheckIdentity } from './nodeIdentity.ts';
import type { Address } from './port.ts';

export interface ChannelState {
  address: Address;
  /** Null if the account does not exist yet. */
  balanceStroops: bigint | null;
  /** The balance without the minimum that the account must keep. */
  spendableStroops: bigint;
}

export interface FundingOptions {
  /** The balance of each account afterwards. */
  startingBalanceStroops: bigint;
  /** An account with less than this is topped up; the default 0 tops up none. */
  topUpBelowStroops?: bigint;
  /** Called before each transaction is sent, because it uses up a sequence of custody. */
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
  /** @returns the addresses that were created or topped up. @throws Error if the network refuses it */
  fund(secretKeys: readonly string[], funding: FundingOptions): Promise<Address[]>;
}
