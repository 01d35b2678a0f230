/**
 * A network to test the whole product on, with what tests need beside the product's adapter.
 */
import type { UnsignedTransaction } from '../src/ledger/network/port.ts';
import type { TestLedger } from './ledgers.ts';

/** A holder with a key of its own, and enough of the network's coin for fees. */
export interface Holder {
  address: string;
  /** Signs a prepared transaction as a wallet does. */
  sign(unsigned: UnsignedTransaction): Promise<string>;
}

export interface NetworkWorld {
  ledger: TestLedger;
  /** Null where the product includes the indexer. */
  indexerUrl: string | null;
  createHolder(): Promise<Holder>;
  /** Pauses a contract with custody's key, without the product. */
  setPaused(contractAddress: string, paused: boolean): Promise<void>;
  /** Transfers base units out of custody without the product's knowledge. */
  transferFromCustody(tokenAddress: string, to: string, amount: bigint): Promise<void>;
  /** Lets the network's time pass. */
  advanceClock(seconds: number): Promise<void>;
  close(): Promise<void>;
}
