/**
 * A ledger network outside of the product, and its faults.
 */
import type { Holder } from '../devnet/world.ts';
import type { EvmLedger } from '../src/ledger/network/evm/settings.ts';
import type { StellarLedger } from '../src/ledger/network/stellar/settings.ts';

export interface LabNode {
  /** The address that servers use for the node. */
  url: string;
  indexerUrl: string;
  /** The product's settings for the node; the laboratory itself asks the node directly. */
  settings: Readonly<Record<string, string>>;
  /** No answers and no ledgers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /**
   * Answers falsely until `obey`. The platform promises to survive these lies: `reconcile` and the verdict
   * ask the node after the lie ended.
   * @returns the lie
   */
  lie(choice: number): Promise<string>;
  obey(): void;
  /** Loses the transactions that wait for a ledger. */
  dropWaiting(): Promise<void>;
  /** From then on, the network's time is ahead of the clocks. */
  advanceTime(seconds: number): Promise<void>;
  createHolder(): Promise<Holder>;
  close(): Promise<void>;
}

/** Farther back than every ledger that servers have seen as final: a ledger takes one second. */
export const LEDGERS_BEHIND = 20;
export const LEDGER_SECONDS = 1;
/** Faults of connections last longer, so that some requests meet them until their timeout. */
const REQUEST_TIMEOUT_MS = 3_000;

/** The product's settings for a network, without those of one family alone. */
export function settingsOf(ledger: EvmLedger | StellarLedger, indexerUrl: string): Record<string, string> {
  return {
    LEDGER_NETWORK: ledger.family,
    LEDGER_RPC_URL: ledger.rpcUrl,
    LEDGER_SECRET_KEY: ledger.secretKey,
    LEDGER_FACTORY_ADDRESS: ledger.factoryAddress,
    LEDGER_SETTLEMENT_FACTORY_ADDRESS: ledger.settlementFactoryAddress ?? '',
    LEDGER_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
    RAMP_SETTLEMENT_ADDRESS: ledger.settlementAddress ?? '',
    INDEXER_URL: indexerUrl,
  };
}

/** @throws RangeError for an empty list */
export function chosen<T>(among: Readonly<Record<string, T>>, choice: number): [string, T] {
  const entries = Object.entries(among);
  const entry = entries[choice % entries.length];
  if (entry === undefined) throw new RangeError('there is nothing to choose from');
  return entry;
}
