/**
 * The types of a call's life: drafted, signed in a slot, sent, and decided by the network.
 */
import type { Refusal } from './errors.ts';
import type { Address, TransactionHash, UnixSeconds } from './units.ts';

/** How a network numbers the transactions of its accounts. */
export interface SigningOrder {
  /** Accounts that may sign, in no order: custody itself, or channels in its place. */
  readonly accounts: readonly Address[];
  /**
   * Accounts configured to sign, but missing on the network when last read; in `accounts` once they exist.
   */
  readonly missing?: readonly Address[];
  /**
   * Those of `accounts` that could not pay when last read. They get no slot, but their sent transactions
   * still count.
   */
  readonly unfunded?: readonly Address[];
  /** The balance below which an account is `unfunded`, for people. */
  readonly leastToSpend?: string;
  /** How many transactions of one account may be open at a time; further ones wait. */
  readonly maxOpenPerAccount: number;
  /**
   * How long a signed transaction can land if the node does not show that it waits; absent if the node shows
   * it.
   */
  readonly landsUnseenForSeconds?: number;
}

/** The sequence or nonce that each account's next transaction must have. */
export type NextSequences = ReadonlyMap<Address, bigint>;

/** The account that signs, and the number in its order that the transaction uses up. */
export interface SequenceSlot {
  source: Address;
  sequence: bigint;
}

/** A call that the network would accept in its present state. */
export interface Draft {
  /** No I/O: runs under the caller's row lock. `slot` is null if there is no order. */
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
   * After this moment of the network's clock the bytes can't land. Null if only another use of the nonce
   * makes them dead.
   */
  validUntil: UnixSeconds | null;
  /**
   * The latest ledger when the transaction was built, final or not: history must reach back to here to prove it
   * dead.
   */
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
  /** Show the caller where `source` is an account that does not sign any more. */
  Partial<Pick<PreparedTransaction, 'signedBytes'>>;

/** The network's answer about an attempt. */
export type Outcome =
  /** Not landed finally, but it may still land. */
  | { status: 'pending' }
  | { status: 'succeeded'; ledger: bigint; result: CallResult }
  /** Landed and refused by the contract: final, without effect. */
  | { status: 'refused'; ledger: bigint; refusal: Refusal }
  /**
   * Proved unable to have an effect, now or later, for a reason that is not the contract's: a new attempt is
   * safe. The transaction never landed, or landed without effect because of the network's own limits (fees,
   * gas, footprint).
   */
  | {
      status: 'dead';
      proof: string;
      /**
       * Set if the transaction landed and was charged without effect: the cause, as a constant phrase, so
       * that repeated deaths of one cause, each of which is charged, are recognised.
       */
      cause?: string;
      /** Set if another transaction used its slot: the hash of that one, or null if it is unknown. */
      usedBy?: TransactionHash | null;
      /** Set if no transaction has used its slot. */
      isUnused?: true;
    }
  /** The network no longer has the history that would decide it. */
  | { status: 'undeterminable'; reason: string };

/** The data that a holder's wallet signs, in the form that the network's wallets take. */
export interface UnsignedTransaction {
  /** The name of the family's `walletFormat`. */
  format: string;
  payload: string;
  holder: Address;
  /** After this moment of the network's clock the transaction can't land; null if it does not expire. */
  validUntil: UnixSeconds | null;
  /** The latest ledger when it was prepared: a wallet can't have sent it earlier. */
  preparedAtLedger: bigint;
}
