/**
 * The port to a ledger network: everything that the product needs of one.
 *
 * Glossary
 *   network      the ledger network that tokens live on (not the platform's books)
 *   custody      what the platform's one signer holds on the network; `custodyAddress` is that signer
 *   base units   integers of 10^-18 tonne CO2e or kilogram; every amount in this file is in base units
 *   call         one contract invocation, described without any network's own types
 *   draft        a call that passed the network's simulation and can be signed
 *   slot         a sequence slot: the signing account and the sequence that a signature uses up
 *   prepared     a call built and signed, with its hash known, but not sent
 *   attempt      a prepared transaction that was committed to the database before it was sent
 *   ledger       a closed block of the network; numbered, with a close time in Unix seconds
 *   final        will not be undone by the network; only final facts cross this port
 *   holder       an owner of tokens with a key of its own, outside custody
 *
 * Writes are two-phase. `draft` simulates a call; its `sign`, without I/O, gives signed bytes, their hash and the
 * moment after which they can no longer land. The caller commits those, then `broadcast`s them (as often
 * as it likes: the same bytes land at most once), then asks `outcome`, which alone decides. A time-out or an
 * exception means "unknown", never "failed".
 *
 * Where each account's transactions are numbered, the caller assigns the numbers:
 * each slot belongs to one call at a time, and is free again only when that call is proved dead.
 */

export type Address = string;
export type TransactionHash = string;
export type BaseUnits = bigint;
/** Seconds since 1970-01-01T00:00:00Z by the network's own clock. */
export type UnixSeconds = bigint;
/** `0x` and 64 lower-case hexadecimal digits. */
export type Hash32 = string;

export interface CarbonCreditMetadata {
  creditType: string;
  verificationBodyRef: string;
  vintageYear: number;
  /** Base units. */
  quantityCO2e: BaseUnits;
  projectLocation: string;
  projectType: string;
  verificationDocHash: Hash32;
  lastUpdated: UnixSeconds;
}

export interface CommodityMetadata {
  commodityType: string;
  /** Whole kilograms, not base units. */
  quantityKg: bigint;
  gradeClassification: string;
  warehouseId: string;
  warehouseLocation: string;
  depositDate: UnixSeconds;
  expiryDate: UnixSeconds;
  inspectionReportHash: Hash32;
  /** Whole US dollars multiplied by 10^18. */
  valuationUSD: bigint;
  harvestSeason: string;
  lastUpdated: UnixSeconds;
}

interface DeployCall {
  /** Makes the deploy repeatable without a second token: a factory accepts each salt once. */
  salt: Hash32;
  name: string;
  symbol: string;
  /** The readable asset id; adapters hash it as their network wants. */
  assetId: string;
  countryCode: string;
}

/** One contract invocation by the custody signer. */
export type NetworkCall =
  | ({ kind: 'deployCarbonCredit'; metadata: CarbonCreditMetadata } & DeployCall)
  | ({ kind: 'deployCommodityReceipt'; metadata: CommodityMetadata } & DeployCall)
  | { kind: 'mint'; tokenAddress: Address; to: Address; amount: BaseUnits }
  | { kind: 'retire'; tokenAddress: Address; amount: BaseUnits; beneficiary: string; note: string }
  | { kind: 'markExpired'; tokenAddress: Address }
  | { kind: 'deployRampSettlement'; salt: Hash32; treasury: Address }
  /** Lets the settlement contract pull exactly `amount`; only where `depositsNeedApproval`. */
  | { kind: 'approve'; tokenAddress: Address; amount: BaseUnits }
  | { kind: 'initiateOffRamp'; sessionId: string; tokenAddress: Address; amount: BaseUnits }
  | { kind: 'confirmOffRampSettlement'; sessionId: string }
  | { kind: 'refundOffRamp'; sessionId: string };

export type NetworkCallKind = NetworkCall['kind'];

/** A call that a holder may sign; the platform only prepares and submits it. */
export type HolderCall = Extract<NetworkCall, { kind: 'retire' | 'approve' | 'initiateOffRamp' }>;

/** How a network numbers what its accounts send. */
export interface SigningOrder {
  /** Accounts that may sign, in no order: custody itself, or channels in its place. */
  readonly accounts: readonly Address[];
  /** Configured to sign, but missing on the network when last read: not in `accounts` until they exist. */
  readonly missing?: readonly Address[] | undefined;
  /** How many transactions of one account may be open at a time; further ones wait. */
  readonly maxOpenPerAccount: number;
}

export type NextSequences = ReadonlyMap<Address, bigint>;

/** The account that signs, and the number in its order that the transaction uses up. */
export interface SequenceSlot {
  source: Address;
  sequence: bigint;
}

/** A call that the network would accept in its present state. */
export interface Draft {
  /** No I/O: runs under the caller's row lock. `slot` is null where there is no order. */
  sign(slot: SequenceSlot | null): Promise<PreparedTransaction>;
}

/** Signed bytes ready to be committed and then sent. */
export interface PreparedTransaction {
  hash: TransactionHash;
  signedBytes: Uint8Array;
  /** The account whose sequence (if the network has one) the transaction uses. */
  source: Address;
  /** Sequence or nonce of `source`; null on networks without an order per account. */
  sequence: bigint | null;
  /**
   * After this moment of the network's clock the bytes can't land; null where only another use of the nonce makes them
   * dead.
   */
  validUntil: UnixSeconds | null;
  /** The latest ledger when the transaction was built: history must reach back to here to prove it dead. */
  preparedAtLedger: bigint;
}

/** A node's answer to a broadcast: a hint, never a decision. */
export type BroadcastAnswer =
  { status: 'accepted' } | { status: 'refused'; reason: string } | { status: 'unknown'; reason: string };

/** Why the network refused a call, finally. */
export type RefusalReason =
  | 'INSUFFICIENT_BALANCE'
  | 'ZERO_AMOUNT'
  | 'PAUSED'
  | 'UNAUTHORIZED'
  | 'SALT_ALREADY_USED'
  | 'REFERENCE_ALREADY_USED'
  | 'WRONG_STATUS'
  | 'INSUFFICIENT_ALLOWANCE'
  | 'WRONG_TEMPLATE'
  | 'CONTRACT_NOT_FOUND'
  | 'NOT_EXPIRED'
  | 'NOT_AS_PREPARED'
  /** The contract accepts only accounts that its verifier knows. */
  | 'NOT_VERIFIED'
  /** A factory charges more for a deployment than the operator allows: an operator decides, so the call is kept. */
  | 'FEE_ABOVE_CAP'
  /** Signed but dead, and only the holder could sign it again. */
  | 'EXPIRED'
  | 'OTHER';

export interface Refusal {
  reason: RefusalReason;
  /** For people; names the problem, with values. */
  message: string;
}

/** The result of a landed call, by kind of call. */
export type CallResult =
  | { kind: 'deployed'; contractAddress: Address }
  | { kind: 'retired'; retirementIndex: number }
  | { kind: 'done' };

/** An attempt as the database stores it. */
export type SentTransaction = Pick<
  PreparedTransaction,
  'hash' | 'source' | 'sequence' | 'validUntil' | 'preparedAtLedger'
> &
  /** Reveal what else the bytes authorised, where they contain something that is valid outside their transaction. */
  Partial<Pick<PreparedTransaction, 'signedBytes'>>;

/** What the network says about an attempt. */
export type Outcome =
  /** Not landed finally, and still able to. */
  | { status: 'pending' }
  | { status: 'succeeded'; ledger: bigint; closedAt: UnixSeconds; result: CallResult }
  /** Landed and refused by the contract: final, without effect. */
  | { status: 'refused'; ledger: bigint; refusal: Refusal }
  /**
   * Proved unable to have an effect, now or later, for a reason that is not the contract's: a new attempt is safe. It
   * never landed, or landed without effect because of the network's own limits (fees, gas, footprint).
   */
  | {
      status: 'dead';
      proof: string;
      /**
       * Set when it landed and was charged without effect: the cause, as a constant phrase, so that repeated deaths of
       * one cause are recognised. Each is charged.
       */
      cause?: string;
      /** Set when another transaction used its slot: that one, or null when it is unknown. */
      usedBy?: TransactionHash | null;
    }
  /** The network no longer has the history that would decide it. */
  | { status: 'undeterminable'; reason: string };

interface NetworkStatus {
  /** The latest closed (and final) ledger. */
  ledger: bigint;
  closedAt: UnixSeconds;
  /** The oldest ledger whose transactions can still be looked up. */
  oldestLedger: bigint;
}

/** A final ledger, by its number and, where ledgers have one, by its hash. */
export interface FinalLedger {
  ledger: bigint;
  hash: string | null;
}

/** Whether the network still has the history that this platform has seen as final. */
export type Continuity =
  | { status: 'whole' }
  /** What was final is gone: the same numbers are other ledgers now. */
  | { status: 'rewritten'; message: string };

/** An immutable record that the token keeps of one retirement. */
export interface RetirementRecord {
  index: number;
  retiredBy: Address;
  amount: BaseUnits;
  timestamp: UnixSeconds;
  beneficiary: string;
  note: string;
}

/** A record whose transaction is asked for. */
export interface WantedTransaction extends Pick<RetirementRecord, 'index' | 'timestamp'> {
  /** Hashes from other sources, in any form: where to look, never believed. */
  hints: readonly string[];
}

export interface CarbonTotals {
  totalSupply: BaseUnits;
  totalRetired: BaseUnits;
  totalRetirements: number;
}

/** `totals` and `records` belong to one moment of the network. */
export interface RetirementPage {
  totals: CarbonTotals;
  /** Ascending by index, without gaps, from the index asked for. */
  records: RetirementRecord[];
}

export type TokenTemplate = 'carbon-credit' | 'commodity';

export type ReceiptStatus = 'DRAFT' | 'ACTIVE' | 'SUSPENDED' | 'REDEEMED' | 'EXPIRED';

export type RetirementCountAnswer =
  | { tokenAddress: Address; totalRetirements: number }
  | { tokenAddress: Address; error: NetworkRefusal | NetworkUnavailable };

export type ExpiryAnswer =
  | { tokenAddress: Address; isExpired: boolean; status: ReceiptStatus }
  | { tokenAddress: Address; error: NetworkRefusal | NetworkUnavailable };

export interface OffRampDeposit {
  depositor: Address;
  tokenAddress: Address;
  amount: BaseUnits;
  status: 'PENDING' | 'SETTLED' | 'REFUNDED' | 'RECORDED';
  initiatedAt: UnixSeconds;
}

/** What a holder's wallet signs, in the form that the network's wallets take. */
export interface UnsignedTransaction {
  /** `stellar-xdr`: base64 envelope. `evm-call`: JSON of chainId, from, to, data, value, nonce, gas and fees. */
  format: 'embedded-payload' | 'stellar-xdr' | 'evm-call';
  payload: string;
  holder: Address;
  /** After this moment of the network's clock it can't land any more; null where it does not expire. */
  validUntil: UnixSeconds | null;
}

export interface SettlementContract {
  address: Address;
  /** Null when neither the contract nor an event of its factory tells. */
  treasury: Address | null;
  paused: boolean;
}

/** At most this many retirement records in one read: Stellar's limit for ledger entries in one call. */
export const MAX_RECORDS_PER_READ = 200;
/** At most this many tokens in one batched read, for the same reason. */
export const MAX_TOKENS_PER_READ = 200;

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
   * Accepts the network's present history as final, on every instance: by an operator's decision, or after proof that
   * books and network agree.
   * @throws NetworkUnavailable
   */
  acceptHistory(): Promise<void>;

  /** Null where transactions of one account land in any order, without numbers. */
  readonly signingOrder: SigningOrder | null;
  /**
   * Of each signing account that exists, the sequence that the network expects next; empty where there is no order. By the latest
   * ledger; by the one that reads are of, since no read shows yet what is between the two; or with what waits at the
   * node as well, in no ledger, as far as the node tells.
   */
  nextSequences(by?: 'latest' | 'final' | 'waiting'): Promise<NextSequences>;
  /** @throws NetworkRefusal when simulation shows that the call can't succeed. */
  draft(call: NetworkCall): Promise<Draft>;
  broadcast(signedBytes: Uint8Array): Promise<BroadcastAnswer>;
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

  /** The token at an address: its template and the hash of its asset id; null when there is none. */
  tokenAt(address: Address): Promise<{ template: TokenTemplate; assetIdHash: Hash32 } | null>;
  /** How this network hashes an asset id, to compare with `tokenAt`. */
  hashAssetId(assetId: string): Hash32;
  /** The address a deploy with this salt gets, or null where the network decides it on landing. */
  predictTokenAddress(salt: Hash32): Address | null;
  /** The token that custody deployed for this asset, if any: by its salt, or from the factory's events. */
  findToken(deployed: { salt: Hash32; assetId: string }): Promise<Address | null>;

  /** @throws NetworkRefusal WRONG_TEMPLATE or CONTRACT_NOT_FOUND */
  carbonTotals(tokenAddress: Address): Promise<CarbonTotals>;
  /** Records from `fromIndex` on, at most `limit` (≤ MAX_RECORDS_PER_READ). @throws like carbonTotals */
  retirementRecords(tokenAddress: Address, fromIndex: number, limit: number): Promise<RetirementPage>;
  /**
   * The final transactions that made these records, by index, from the network's logs. Missing when the logs do not
   * show it (any more, or within a bounded search). At most MAX_RECORDS_PER_READ.
   * @throws NetworkUnavailable
   */
  retirementTransactions(
    tokenAddress: Address,
    wanted: readonly WantedTransaction[],
  ): Promise<ReadonlyMap<number, TransactionHash>>;
  /** How many retirements each carbon token has; at most MAX_TOKENS_PER_READ, errors per token. */
  retirementCountsOf(tokenAddresses: readonly Address[]): Promise<RetirementCountAnswer[]>;
  totalSupply(tokenAddress: Address): Promise<BaseUnits>;
  balanceOf(tokenAddress: Address, holder: Address): Promise<BaseUnits>;

  /** At most MAX_TOKENS_PER_READ; a bad token gets its own error and does not affect the others. */
  expiryOf(tokenAddresses: readonly Address[]): Promise<ExpiryAnswer[]>;

  /** The settlement contract in use, or null when there is none. */
  settlementContract(): Promise<SettlementContract | null>;
  /** The deposit behind a session's reference, or null when the reference was never used. */
  offRampDeposit(sessionId: string): Promise<OffRampDeposit | null>;
  /** Whether the depositor has to `approve` the amount before `initiateOffRamp`. */
  readonly depositsNeedApproval: boolean;
  /** Whether a deposit would be accepted now, a missing approval aside. @throws NetworkRefusal when not. */
  checkDeposit(call: Extract<NetworkCall, { kind: 'initiateOffRamp' }>, depositor: Address): Promise<void>;
}

/** The network (or its contract) refused, finally. */
export class NetworkRefusal extends Error {
  override readonly name = 'NetworkRefusal';
  readonly reason: RefusalReason;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.reason = refusal.reason;
  }
}

/** The network did not answer: nothing is known. */
export class NetworkUnavailable extends Error {
  override readonly name: string = 'NetworkUnavailable';
}

/** Custody can't pay for the call: nothing is signed until it is funded. */
export class SignerShortOfFunds extends NetworkUnavailable {
  override readonly name = 'SignerShortOfFunds';
}

/**
 * The node does not have the final ledger that this platform has seen: it is behind, or the network was rolled back.
 */
export class NetworkBehind extends NetworkUnavailable {
  override readonly name = 'NetworkBehind';

  constructor(numbers: { told: bigint; seen: bigint }) {
    super(
      `The node's final block is ${numbers.told}, but this platform has seen ${numbers.seen}: the node is behind, or ` +
        'the chain was rolled back',
    );
  }
}

/**
 * Another ledger has replaced one that was final: signing stops until an operator, or a proof, accepts that history.
 */
export class ChainRewritten extends NetworkUnavailable {
  override readonly name = 'ChainRewritten';
}
