/**
 * The port to a ledger network: everything that the product needs of one.
 *
 * Its words are those of docs/glossary.md; `prepared` is a call that is signed and not sent yet. Every amount that crosses the port is in base units, and only final facts cross it.
 *
 * Writes are two-phase. `draft` simulates a call; its `sign`, without I/O, gives signed bytes, their hash and the
 * moment after which they can no longer land. The caller commits those, then `broadcast`s them (as often
 * as it likes: the same bytes land at most once), then asks `outcome`, which alone decides. A time-out or an
 * exception means "unknown", never "failed".
 *
 * Where each account's transactions are numbered, the caller assigns the numbers:
 * each slot belongs to one call at a time, and is free again only when that call is proved dead.
 *
 * Import the port's types from here; they are declared in port/, by topic.
 */
import type { HolderCall, NetworkCall } from './port/calls.ts';
import type { Continuity, FinalLedger, NetworkStatus } from './port/history.ts';
import type {
  AmountAnswer,
  CarbonTotals,
  ExpiryAnswer,
  OffRampDeposit,
  RetirementPage,
  SettlementContract,
  TokenAnswer,
  WantedTransaction,
} from './port/tokens.ts';
import type {
  BroadcastAnswer,
  Draft,
  NextSequences,
  Outcome,
  PreparedTransaction,
  SentTransaction,
  SigningOrder,
  UnsignedTransaction,
} from './port/transactions.ts';
import type { Address, BaseUnits, Hash32, TransactionHash } from './port/units.ts';

export type * from './port/calls.ts';
export * from './port/errors.ts';
export type * from './port/history.ts';
export { MAX_RECORDS_PER_READ, MAX_TOKENS_PER_READ } from './port/readLimits.ts';
export type * from './port/tokens.ts';
export type * from './port/transactions.ts';
export type * from './port/units.ts';

export interface LedgerNetwork {
  /** The configured name: `embedded`, `ledger-testnet`, … */
  readonly name: string;
  /** Distinguishes this network from every other of its family (passphrase, chain id); stored in the database. */
  readonly networkId: string;
  readonly custodyAddress: Address;

  /** Brings an address to the one spelling used as a key, or null when it isn't one of this network. */
  normalizeAddress(text: string): Address | null;

  status(): Promise<NetworkStatus>;
  /**
   * Compares with what was final before, on any instance and before any restart. Unless it is intact, `draft` throws
   * ChainRewritten.
   * @throws NetworkBehind, NetworkUnavailable
   */
  continuity(): Promise<Continuity>;
  /**
   * The final ledger of the network's present history, to be accepted in place of what was final before (acceptLedger): by an
   * operator's decision, or after proof that books and network agree. Null for a network that has no other history.
   * @throws NetworkUnavailable
   */
  presentHistory(): Promise<FinalLedger | null>;

  /** Null where transactions of one account land in any order, without numbers. */
  readonly signingOrder: SigningOrder | null;
  /**
   * Of each signing account that exists, the sequence that the network expects next; empty where there is no order. `latest`: by the
   * newest ledger. `final`: by the final ledger, which all reads use. `waiting`: the latest, and what waits at the node, as far as
   * that shows.
   */
  nextSequences(by?: 'latest' | 'final' | 'waiting'): Promise<NextSequences>;
  /** @throws NetworkRefusal when simulation shows that the call can't succeed. */
  draft(call: NetworkCall): Promise<Draft>;
  broadcast(signedBytes: Uint8Array): Promise<BroadcastAnswer>;
  /** @throws ChainRewritten in place of `refused` and `dead` while the history is not accepted; NetworkUnavailable */
  outcome(sent: SentTransaction): Promise<Outcome>;
  /**
   * The same call in the same slot at a higher fee, when `latest` (the last one signed for its slot) waits longer than
   * its fee explains; at most one of both can land. Null when it is not stuck, the cap is reached, or the network has
   * no replacement.
   */
  replace(latest: PreparedTransaction): Promise<PreparedTransaction | null>;

  /** Builds what `holder` signs for exactly this call. @throws NetworkRefusal when simulation refuses it. */
  prepareForHolder(call: HolderCall, holder: Address): Promise<UnsignedTransaction>;
  /**
   * Verifies a wallet's answer to `unsigned`: that very act, signed by its holder, and nothing else.
   * @throws NetworkRefusal NOT_AS_PREPARED when it is another act, or not the holder's signature
   */
  openSigned(call: HolderCall, unsigned: UnsignedTransaction, signed: string): Promise<PreparedTransaction>;

  /** The token that custody deployed for this asset, if any: by its salt, or from the factory's events. */
  findToken(deployed: { salt: Hash32; assetId: string }): Promise<Address | null>;
  /**
   * The tokens that custody has deployed since the ledger, by the factory's events.
   * @param ledger null for all that the node has events of
   * @throws NetworkUnavailable, also when the node has no events of that time any more
   */
  tokensDeployedSince(ledger: bigint | null): Promise<readonly Address[]>;
  /** The settlement contract that custody deployed, if any: by its salt, or the first one of the factory's events. */
  findSettlement(deployed: { salt: Hash32 }): Promise<SettlementContract | null>;

  /** @throws NetworkRefusal WRONG_TEMPLATE or CONTRACT_NOT_FOUND */
  carbonTotals(tokenAddress: Address): Promise<CarbonTotals>;
  /** Records from `fromIndex` on, at most `limit` (≤ MAX_RECORDS_PER_READ). @throws like carbonTotals */
  retirementRecords(tokenAddress: Address, fromIndex: number, limit: number): Promise<RetirementPage>;
  /**
   * The final transactions that made these records, by index, from the network's logs. Missing when the logs do not
   * show it (any more, or within a bounded search). At most MAX_RECORDS_PER_READ.
   * @throws ChainRewritten while the history is not accepted; NetworkUnavailable
   */
  retirementTransactions(
    tokenAddress: Address,
    wanted: readonly WantedTransaction[],
  ): Promise<ReadonlyMap<number, TransactionHash>>;
  /** How many retirements each carbon token has; at most MAX_TOKENS_PER_READ, errors per token. */
  retirementCountsOf(
    tokenAddresses: readonly Address[],
  ): Promise<TokenAnswer<{ totalRetirements: number }>[]>;
  /** What exists of a token of either template. @throws NetworkRefusal CONTRACT_NOT_FOUND */
  totalSupply(tokenAddress: Address): Promise<BaseUnits>;
  /** The same of each of at most MAX_TOKENS_PER_READ; a bad token gets its own error and does not affect the others. */
  totalSuppliesOf(tokenAddresses: readonly Address[]): Promise<AmountAnswer[]>;
  /** What an address holds of a token of either template. @throws like totalSupply */
  balanceOf(tokenAddress: Address, holder: Address): Promise<BaseUnits>;
  /** The same of each token, as with totalSuppliesOf. */
  balancesOf(tokenAddresses: readonly Address[], holder: Address): Promise<AmountAnswer[]>;

  /** At most MAX_TOKENS_PER_READ; a bad token gets its own error and does not affect the others. */
  expiryOf(tokenAddresses: readonly Address[]): Promise<ExpiryAnswer[]>;

  /** The settlement contract in use, or null when there is none. */
  settlementContract(): Promise<SettlementContract | null>;
  /** The deposit behind a session's reference, or null when the reference was never used. */
  offRampDeposit(sessionId: string): Promise<OffRampDeposit | null>;
  /** Whether the depositor has to allow the amount (`setAllowance`) before `depositOffRamp`. */
  readonly depositsNeedAllowance: boolean;
  /** Whether a deposit would be accepted now, a missing allowance aside. @throws NetworkRefusal when not. */
  checkDeposit(call: Extract<NetworkCall, { kind: 'depositOffRamp' }>, depositor: Address): Promise<void>;
}
