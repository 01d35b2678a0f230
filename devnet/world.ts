/**
 * A network for tests of the whole product, with the tools that tests need besides the product's adapter.
 */
import { signPayload } from '../src/ledger/network/embedded/wallets.ts';
import type { UnsignedTransaction } from '../src/ledger/network/port.ts';
import { addressOfSecretKey } from '../src/lib/strkey.ts';
import type { LedgerConfig } from '../src/ledger/network/families.ts';

/** A holder with their own key, and enough of the network's coin for fees. */
export interface Holder {
  address: string;
  /** Signs a prepared transaction as a wallet does. */
  sign(unsigned: UnsignedTransaction): Promise<string>;
}

/** A holder on the embedded network, which takes no fees. */
export function embeddedHolder(secretKey: string): Holder {
  const address = addressOfSecretKey(secretKey);
  return { address, sign: async ({ payload }) => signPayload(secretKey, payload) };
}

export interface NetworkWorld {
  ledger: LedgerConfig;
  /** Null when the product includes the indexer. */
  indexerUrl: string | null;
  createHolder(): Promise<Holder>;
  /** Pauses a contract with custody's key, without the product. */
  setPaused(contractAddress: string, paused: boolean): Promise<void>;
  /**
   * Transfers base units out of custody without the product's knowledge. It uses up no sequence of custody,
   * which would halt signing.
   */
  transferFromCustody(tokenAddress: string, to: string, amount: bigint): Promise<void>;
  /** Moves the network's time ahead. */
  advanceClock(seconds: number): Promise<void>;
  close(): Promise<void>;
}
