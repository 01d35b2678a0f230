/**
 * A ledger network outside the product, and what can happen to it.
 */
import type { EvmLedger } from '../src/ledger/network/evm/settings.ts';
import type { StellarLedger } from '../src/ledger/network/stellar/settings.ts';

export interface LabNode {
  /** What servers take for the node. */
  url: string;
  indexerUrl: string;
  /** Of the product; the node is asked directly. */
  settings: Readonly<Record<string, string>>;
  /** No answer, and no ledger. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /**
   * Answers falsely until `obey`. These are lies that the platform promises to survive: `reconcile` and the verdict ask the node when
   * it tells the truth again.
   * @returns which lie it was
   */
  lie(choice: number): Promise<string>;
  obey(): void;
  /** Loses the transactions that wait for a ledger. */
  dropWaiting(): Promise<void>;
  /** The network's time is ahead of the clocks from then on. */
  advanceTime(seconds: number): Promise<void>;
  close(): Promise<void>;
}

/** Behind every ledger that servers have seen as final: a ledger takes one second. */
export const LEDGERS_BEHIND = 20;
export const LEDGER_SECONDS = 1;
/** Faults of connections are longer, so that some requests meet them to their end. */
const REQUEST_TIMEOUT_MS = 3_000;

/** Of the product on a network, but for what one family alone has. */
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

/** @throws RangeError when there is none to choose */
export function chosen<T>(among: Readonly<Record<string, T>>, choice: number): [string, T] {
  const entries = Object.entries(among);
  const entry = entries[choice % entries.length];
  if (entry === undefined) throw new RangeError('there is nothing to choose from');
  return entry;
}
