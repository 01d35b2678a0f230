/**
 * The effects of each call on the platform (books, states), which the use cases give at composition.
 *
 * Submission sends a call exactly once. The call's effects run in the transaction that settles the call.
 */
import type { Tx } from '../../db/connection.ts';
import type { submissionSigner, submissionTarget } from '../../db/tables/index.ts';
import type { CallResult, NetworkCall, NetworkCallKind, Refusal } from '../network/port.ts';

export type TargetType = (typeof submissionTarget.enumValues)[number];
export type Signer = (typeof submissionSigner.enumValues)[number];

/** A submission as its effects see it. */
export interface Intent {
  submissionId: string;
  /** The type of the row that the call is for. */
  targetType: TargetType;
  targetId: string;
  /** Whose key signs it. */
  signer: Signer;
  call: NetworkCall;
}

export interface Landed {
  /** Null for an adopted outcome whose transaction is not known. */
  txHash: string | null;
  ledger: bigint | null;
  result: CallResult;
  at: Date;
}

export interface LandedIntent {
  intent: Intent;
  landed: Landed;
}

/**
 * Writes the effects of many successes of one kind. Called outside any transaction, to read the data that is
 * written with them; it must not reject for lack of data that can be added later.
 */
export type LandedTogether = (landed: readonly LandedIntent[]) => Promise<{
  /**
   * Writes the effects of the calls that this transaction settles. When it throws, the calls are tried again
   * in two parts. If it enqueues a submission, afterSucceeded has to notify the worker.
   */
  succeeded(tx: Tx, landed: readonly LandedIntent[]): Promise<void>;
  /** Called after the commit. A crash may skip it, so another process must make up for it. */
  afterSucceeded(): void | Promise<void>;
}>;

/** The effects of a success: written for many at once, or for one. */
type Success =
  | { landedTogether: LandedTogether; succeeded?: never; afterSucceeded?: never }
  | {
      landedTogether?: never;
      /** The call landed, finally. */
      succeeded(tx: Tx, intent: Intent, landed: Landed): Promise<void>;
      /** Called after the success was committed. A crash may skip it: another process must make up for it. */
      afterSucceeded?(intent: Intent, landed: Landed): Promise<void>;
    };

/** The effect of a call that the network shows, made by none of this database's attempts. */
export interface FoundOnNetwork {
  /** A description of what shows the effect, with values. */
  evidence: string;
  /** The call's result, for an operator to adopt; null when the effect is not exactly this call's. */
  result: CallResult | null;
  /** Undefined when unknown. */
  txHash?: string | null;
}

export type Effects = Success & OtherEffects;

interface OtherEffects {
  /**
   * Finds the call's effect if a transaction that this database does not know has made it (of a restored
   * copy, or of another platform with the same key). Called outside any transaction before a call is signed,
   * before a refusal is believed and before an operator gives the call up. For calls whose repetition, or
   * whose refusal, would move value twice. Deposits and their releases don't need it: the contract takes each
   * reference once, and the session is compared with the deposit.
   * @throws NetworkUnavailable when it can't be determined; the step is then repeated later
   */
  findOnNetwork?(intent: Intent): Promise<FoundOnNetwork | null>;
  /**
   * Called before each attempt is signed. Returns a reason for which an operator must decide, or null.
   * @throws NetworkUnavailable
   */
  reasonForReview?(intent: Intent): Promise<string | null>;
  /**
   * The network refused, or an operator ended it.
   * @returns whether that ends the submission or needs an operator
   */
  refused(tx: Tx, intent: Intent, refusal: Refusal, at: Date): Promise<'REFUSED' | 'NEEDS_REVIEW'>;
  /** No rule decides: whatever is reserved stays reserved. */
  needsReview(tx: Tx, intent: Intent, reason: string): Promise<void>;
  /** The submission was resumed, by an operator or at the end of a halt. */
  resumed(tx: Tx, intent: Intent): Promise<void>;
}

/** The effects of one success, also for calls whose effects are written for many at once. */
export async function successOf(effects: Effects, one: LandedIntent): ReturnType<LandedTogether> {
  if (effects.landedTogether) return effects.landedTogether([one]);
  const { intent, landed } = one;
  return {
    succeeded: (tx) => effects.succeeded(tx, intent, landed),
    afterSucceeded: () => effects.afterSucceeded?.(intent, landed),
  };
}

/**
 * The effects of each call, by its signer, the type of its target, and its kind: a holder's retirement is not
 * the platform's, and a project's mint is not a receipt's. Calls that no use case enqueues are left out.
 */
export type EffectsTable = {
  readonly [S in Signer]: { readonly [T in TargetType]?: { readonly [K in NetworkCallKind]?: Effects } };
};

/** @throws Error when no use case enqueues such a submission: enqueuing one is a defect. */
export function effectsFor(
  deps: { effects: EffectsTable },
  { signer, targetType, call: { kind } }: Pick<Intent, 'signer' | 'targetType' | 'call'>,
): Effects {
  const effects = deps.effects[signer][targetType]?.[kind];
  if (!effects) {
    throw new Error(`no use case handles ${kind} of a ${targetType}, signed by ${signer}`);
  }
  return effects;
}
