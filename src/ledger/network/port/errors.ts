/**
 * How a network fails: a refusal is the network's final answer; any other error leaves open what happened.
 */

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
  /**
   * A factory charges more for a deployment than the operator allows. An operator decides, so the call is
   * kept.
   */
  | 'FEE_ABOVE_CAP'
  /** The transaction was signed but is dead, and only the holder could sign it again. */
  | 'EXPIRED'
  | 'OTHER';

export interface Refusal {
  reason: RefusalReason;
  /** For people; names the problem, with values. */
  message: string;
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

export function refused(reason: RefusalReason, message: string): NetworkRefusal {
  return new NetworkRefusal({ reason, message });
}

/** @param address any text that was given as an address */
export function noTokenAt(address: string): NetworkRefusal {
  return refused('CONTRACT_NOT_FOUND', `No token stands at ${address.slice(0, 100)}`);
}

/** Of what a wallet gave back in place of what was prepared for its holder. */
export function notAsPrepared(problem: string): NetworkRefusal {
  return refused('NOT_AS_PREPARED', `What the wallet gave back is not what was prepared for it: ${problem}`);
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
 * The node does not have the final ledger that this platform has seen: it is behind, or the network was
 * rolled back.
 */
export class NetworkBehind extends NetworkUnavailable {
  override readonly name = 'NetworkBehind';

  constructor(numbers: { reported: bigint; seen: bigint }) {
    super(
      `The node's final block is ${numbers.reported}, but this platform has seen ${numbers.seen}: the node is behind, or ` +
        'the chain was rolled back',
    );
  }
}

/** The node shows another ledger in place of a final one. One answer does not confirm a reorganisation. */
export class ReorgUnconfirmed extends NetworkUnavailable {
  override readonly name = 'ReorgUnconfirmed';
}

/**
 * The chain was reorganised below a final ledger. Signing stops until an operator, or a proof, accepts the
 * new history.
 */
export class ChainReorganised extends NetworkUnavailable {
  override readonly name = 'ChainReorganised';
}

export type NetworkError = NetworkRefusal | NetworkUnavailable;

export function isNetworkError(error: unknown): error is NetworkError {
  return error instanceof NetworkRefusal || error instanceof NetworkUnavailable;
}
