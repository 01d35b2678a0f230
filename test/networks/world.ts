/**
 * A network that the whole product is tried on: what a test needs of it beside the product's own adapter.
 */
import type { UnsignedTransaction } from '../../src/ledger/network/port.ts';
import type { TestLedger } from '../harness/ledgers.ts';

/** Someone with a key of their own, and enough of the network's coin for fees. */
export interface Holder {
  address: string;
  /** What a wallet does with what the product prepared. */
  sign(unsigned: UnsignedTransaction): Promise<string>;
}

export interface NetworkWorld {
  ledger: TestLedger;
  /** Null where the product brings the indexer along. */
  indexerUrl: string | null;
  createHolder(): Promise<Holder>;
  /** Pauses a contract of custody's with custody's own key, past the product. */
  setPaused(contractAddress: string, paused: boolean): Promise<void>;
  /** Moves base units out of custody past the product, which then never learns of it. */
  transferFromCustody(tokenAddress: string, to: string, amount: bigint): Promise<void>;
  /** Lets the network's time pass. */
  advanceClock(seconds: number): Promise<void>;
  close(): Promise<void>;
}
