/**
 * The port to a ledger network: everything that the product needs from a network.
 *
 * Its terms are those of docs/glossary.md; a `prepared` transaction is signed and not sent yet. Every amount
 * that crosses the port is in base units, and only final facts cross it.
 *
 * Writes are two-phase. `draft` simulates a call; its `sign`, without I/O, returns signed bytes, their hash
 * and the moment after which they can no longer land. The caller commits the bytes, then calls `broadcast`
 * (as often as it likes: the same bytes land at most once), then asks `outcome`, which alone decides. A
 * timeout or an exception means "unknown", never "failed".
 *
 * Each method that returns a promise may throw NetworkUnavailable: the node gave no answer, or none that can
 * be used. `@throws` names it only where it has a further cause.
 *
 * If the network numbers each account's transactions, the caller assigns the numbers: each slot belongs to
 * one call at a time, and is free again only when that call is proved dead.
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

/**
 * Adapters return plain objects, whose functions are their own properties and don't use `this`: the rules that
 * hold for every question (wrapNetwork.ts) wrap each of them.
 */
export interface LedgerNetwork {
  /** The configured name: `embedded`, `ledger-testnet`, … */
  readonly name: string;
  /**
   * Distinguishes this network from every other one (passphrase, family and chain id); stored in the database.
   * An id that continues another one after a colon names the same network (isSameNetwork), so a part that an
   * operator chooses must contain no colon.
   */
  readonly networkId: string;
  /** The account of LEDGER_SECRET_KEY, which receives all mints. */
  readonly custodyAddress: Address;

  /**
   * Converts an address to its one spelling, which serves as a key. Null if `text` is no address of this
   * network.
   */
  normalizeAddress(text: string): Address | null;

  /** The newest final ledger, and how far back transactions can be looked up. @throws NetworkBehind */
  status(): Promise<NetworkStatus>;
  /**
   * Compares the network with the history that was final before, on any instance and before any restart.
   * Unless the history is whole, `draft` throws ChainReorganised.
   * @throws NetworkBehind, NetworkUnavailable
   */
  continuity(): Promise<Continuity>;
  /**
   * The final ledger of the network's present history, which replaces the one that was final before
   * (acceptLedger): by an operator's decision, or after proof that books and network agree. Null for a
   * network that can have no other history.
   * @throws NetworkUnavailable
   */
  presentHistory(): Promise<FinalLedger | null>;

  /**
   * Null if the network does not number transactions, so that one account's transactions land in any order.
   * The object stays the same one; what the network last showed of its accounts may change in it.
   */
  readonly signingOrder: SigningOrder | null;
  /**
   * The sequence that the network expects next, for each signing account that exists; empty if there is no
   * signing order. `latest`: by the newest ledger. `final`: by the final ledger, which all reads use.
   * `waiting`: `latest`, plus the transactions that wait at the node, as far as the node shows them.
   */
  nextSequences(by?: 'latest' | 'final' | 'waiting'): Promise<NextSequences>;
  /**
   * Simulates a call in the network's latest state; sends nothing. A refusal ends the call, so it must hold in
   * the final state too: one that the network may still undo is NetworkUnavailable.
   * @throws NetworkRefusal when the simulation shows that the call can't succeed; SignerShortOfFunds;
   *   ChainReorganised
   */
  draft(call: NetworkCall): Promise<Draft>;
  /**
   * Sends the signed transaction, if need be in an envelope that pays more for it and leaves its hash. No answer
   * decides anything: `refused` bytes may have landed before.
   */
  broadcast(signedBytes: Uint8Array): Promise<BroadcastAnswer>;
  /**
   * What became of the sent bytes; all but `pending` and `undeterminable` is final.
   * @throws ChainReorganised, in place of `refused` or `dead`, until the history is accepted
   */
  outcome(sent: SentTransaction): Promise<Outcome>;
  /**
   * Signs the same call in the same slot at a higher fee, if `latest` (the last transaction signed for its
   * slot) waits longer than its fee explains; at most one of the two can land. Null if `latest` is not stuck, or
   * a holder's, if the fee cap is reached, or the network has no replacement: on Stellar `broadcast` pays more.
   */
  replace(latest: PreparedTransaction): Promise<PreparedTransaction | null>;

  /**
   * Builds the transaction that `holder` signs for exactly this call. @throws NetworkRefusal if simulation
   * refuses it
   */
  prepareForHolder(call: HolderCall, holder: Address): Promise<UnsignedTransaction>;
  /**
   * Verifies a wallet's answer to `unsigned`: it must be the same act, signed by its holder, and nothing
   * else.
   * @param isFirst false if a transaction of the act was submitted before. It may come once more after its
   *   replacement used up its sequence, and a refusal would say that nothing was sent. True by default.
   * @throws NetworkRefusal NOT_AS_PREPARED if it is another act, or not the holder's signature
   */
  openSigned(
    call: HolderCall,
    unsigned: UnsignedTransaction,
    signed: string,
    isFirst?: boolean,
  ): Promise<PreparedTransaction>;

  /**
   * The token that custody deployed for this asset, if any: from the factory's events, or what is at the
   * salt's address, unless the network shows that another account deployed it.
   */
  findToken(deployed: { salt: Hash32; assetId: string }): Promise<Address | null>;
  /**
   * The tokens that custody has deployed in the ledger and since, from the factory's events.
   * @param ledger null for all events that the node has
   * @throws NetworkUnavailable, also if the node no longer has the events of that time
   */
  tokensDeployedSince(ledger: bigint | null): Promise<readonly Address[]>;
  /**
   * The settlement contract that custody deployed, if any: the first one in the factory's events, or as
   * findToken says.
   */
  findSettlement(deployed: { salt: Hash32 }): Promise<SettlementContract | null>;

  /** Supply and retirements of a carbon token. @throws NetworkRefusal WRONG_TEMPLATE or CONTRACT_NOT_FOUND */
  carbonTotals(tokenAddress: Address): Promise<CarbonTotals>;
  /**
   * Records from `fromIndex` on, at most `limit` (≤ MAX_RECORDS_PER_READ): fewer where their texts are very long,
   * but at least one if there is one. @throws like carbonTotals
   */
  retirementRecords(tokenAddress: Address, fromIndex: number, limit: number): Promise<RetirementPage>;
  /**
   * The final transactions that made these records, by index, from the network's logs. A record is missing if
   * the logs don't show its transaction (any more, or within a bounded search). At most MAX_RECORDS_PER_READ
   * records.
   * @throws ChainReorganised while the history is not accepted; NetworkUnavailable
   */
  retirementTransactions(
    tokenAddress: Address,
    wanted: readonly WantedTransaction[],
  ): Promise<ReadonlyMap<number, TransactionHash>>;
  /** How many retirements each carbon token has; at most MAX_TOKENS_PER_READ, errors per token. */
  retirementCountsOf(
    tokenAddresses: readonly Address[],
  ): Promise<TokenAnswer<{ totalRetirements: number }>[]>;
  /** The total supply of a token of either template. @throws NetworkRefusal CONTRACT_NOT_FOUND */
  totalSupply(tokenAddress: Address): Promise<BaseUnits>;
  /** The total supply of each token; at most MAX_TOKENS_PER_READ, errors per token. */
  totalSuppliesOf(tokenAddresses: readonly Address[]): Promise<AmountAnswer[]>;
  /** The holder's balance of a token of either template. @throws like totalSupply */
  balanceOf(tokenAddress: Address, holder: Address): Promise<BaseUnits>;
  /** The holder's balance of each token; at most MAX_TOKENS_PER_READ, errors per token. */
  balancesOf(tokenAddresses: readonly Address[], holder: Address): Promise<AmountAnswer[]>;

  /** Whether each receipt has expired; at most MAX_TOKENS_PER_READ, errors per token. */
  expiryOf(tokenAddresses: readonly Address[]): Promise<ExpiryAnswer[]>;

  /** The settlement contract in use, or null when there is none. */
  settlementContract(): Promise<SettlementContract | null>;
  /**
   * The deposit behind a session's reference in that settlement contract, which need not be the one in use. Null
   * when the reference was never used there, or no contract stands there: the network may have lost it.
   */
  offRampDeposit(settlementAddress: Address, sessionId: string): Promise<OffRampDeposit | null>;
  /** Whether the depositor has to allow the amount (`setAllowance`) before `depositOffRamp`. */
  readonly depositsNeedAllowance: boolean;
  /**
   * Checks that a deposit would be accepted now, apart from a missing allowance. @throws NetworkRefusal, as
   * draft does
   */
  checkDeposit(call: Extract<NetworkCall, { kind: 'depositOffRamp' }>, depositor: Address): Promise<void>;
}
