/**
 * What submission needs to know about each kind of call, given by the use cases at composition.
 *
 * Submission knows how to carry a call to the network exactly once. What the call means to the platform
 * (books, states) is told here, and runs inside the very transaction that settles it.
 */
import type { Tx } from '../../db/connection.ts';
import type { CallResult, NetworkCall, NetworkCallKind, Refusal } from '../network/port.ts';

/** A submission as its effects see it. */
export interface Intent {
  submissionId: string;
  /** The project, retirement, … that the call is for. */
  subjectId: string;
  /** Whose key signs it. */
  signer: 'CUSTODY' | 'HOLDER';
  call: NetworkCall;
}

export interface Landed {
  txHash: string;
  ledger: bigint;
  result: CallResult;
  at: Date;
}

export interface Effects {
  /**
   * Asked before each attempt is signed, outside any transaction: may the call be made? The answer is the
   * reason why an operator has to look first, or null. For calls whose repetition would be worse than
   * waiting, this is where "error, but it happened" is caught: compare what the network has.
   * @throws NetworkUnavailable when it can't be told; the step is then tried later.
   */
  reasonForReview?(intent: Intent): Promise<string | null>;
  /**
   * Asked before an operator gives a call up: does the network show that it was made after all? The answer is what
   * it shows, or null. @throws NetworkUnavailable
   */
  reasonAgainstGivingUp?(intent: Intent): Promise<string | null>;
  /** The call landed, finally. */
  succeeded(tx: Tx, intent: Intent, landed: Landed): Promise<void>;
  /** After the success was committed; what it does may be lost in a crash, so others must make it good. */
  afterSucceeded?(intent: Intent, landed: Landed): Promise<void>;
  /** The network refused for good; says whether that ends the submission or needs an operator. */
  refused(tx: Tx, intent: Intent, refusal: Refusal, at: Date): Promise<'REFUSED' | 'NEEDS_REVIEW'>;
  /** Undecidable by rule: whatever is reserved stays reserved. */
  needsReview(tx: Tx, intent: Intent, reason: string): Promise<void>;
  /** An operator resumed the submission. */
  resumed(tx: Tx, intent: Intent): Promise<void>;
}

/** For kinds that custody signs, and holders too: what they mean differs. */
export function bySigner(custody: Effects, holder: Effects): Effects {
  const of = ({ signer }: Intent) => (signer === 'HOLDER' ? holder : custody);
  return {
    reasonForReview: async (intent) => (await of(intent).reasonForReview?.(intent)) ?? null,
    reasonAgainstGivingUp: async (intent) => (await of(intent).reasonAgainstGivingUp?.(intent)) ?? null,
    succeeded: (tx, intent, landed) => of(intent).succeeded(tx, intent, landed),
    afterSucceeded: async (intent, landed) => of(intent).afterSucceeded?.(intent, landed),
    refused: (tx, intent, refusal, at) => of(intent).refused(tx, intent, refusal, at),
    needsReview: (tx, intent, reason) => of(intent).needsReview(tx, intent, reason),
    resumed: (tx, intent) => of(intent).resumed(tx, intent),
  };
}

/** Kinds that no use case enqueues have no effects; enqueuing one is a defect caught at once. */
export type EffectsByKind = Partial<Record<NetworkCallKind, Effects>>;
