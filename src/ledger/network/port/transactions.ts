/**
 * The way of a call: drafted, signed in a slot, sent, and decided by the network.
 */
import type { Refusal } from './errors.ts';
import type { Address, TransactionHash, UnixSeconds } from './units.ts';

/** How a network numbers what its accounts send. */
export interface SigningOrder {
  /** Accounts that may sign, in no order: custody itself, or channels in its place. */
  readonly accounts: readonly Address[];
  /** Configured to sign, but missing on the network when last read: not in `accounts` until they exist. */
  readonly missing?: readonly Address[];
  /** Of `accounts`, those that could not pay when last read: they get no slot, though what they have sent still counts. */
  readonly unfunded?: readonly Address[];
  /** With less an account is `unfunded`; for people. */
  readonly leastToSpend?: string;
  /** How many transactions of one account may be open at a time; further ones wait. */
  readonly maxOpenPerAccount: number;
  /** How long what was signed can land, where nothing shows that it waits at the node; left out where that shows. */
  readonly landsUnseenForSeconds?: number;
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
  | { status: 'succeeded'; ledger: bigint; result: CallResult }
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
      /** Set when nothing has used its slot. */
      isUnused?: true;
    }
  /** The network no longer has the history that would decide it. */
  | { status: 'undeterminable'; reason: string };

/** What a holder's wallet signs, in the form that the network's wallets take. */
export interface UnsignedTransaction {
  /** The name of its family's `walletFormat`. */
  format: string;
  payload: string;
  holder: Address;
  /** After this moment of the network's clock it can't land any more; null where it does not expire. */
  validUntil: UnixSeconds | null;
}
