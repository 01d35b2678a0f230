/**
 * The rules that are decided under a submission's row lock: whether a conclusion still holds, and whether a
 * call may be signed. They do no I/O.
 */
import type { LockedSubmission } from './lockSubmissions.ts';
import type { Submission, Conclusion } from './settle.ts';

export function isSettled(state: Submission['state']): boolean {
  return state === 'SUCCEEDED' || state === 'REFUSED';
}

/**
 * A finding says nothing about bytes that another instance has signed since. Those may still land, so
 * returning the reserved value would give it away twice; their outcome decides. The outcome of bytes that
 * landed always holds, whatever attempts are open. Everything else found before a resumption is to be looked at
 * again, and would undo the operator's decision; only a halt is examined under the lock.
 * @param open hashes of the attempts that may still land
 * @param seen the submission, as read before anything was found
 */
export function isOutdated(
  { state, resumptions }: LockedSubmission,
  open: readonly string[],
  seen: Pick<Submission, 'resumptions'>,
  conclusion: Conclusion,
): boolean {
  if (isSettled(state)) return true;
  const isByOperator = conclusion.kind === 'givenUp' || conclusion.kind === 'adopted';
  if (!isByOperator && conclusion.attemptHash !== null && conclusion.kind !== 'needsReview') return false;
  if (resumptions !== seen.resumptions && !isForHalt(conclusion)) return true;
  if (isByOperator) return state !== 'NEEDS_REVIEW' || open.some((hash) => !conclusion.dead.includes(hash));
  // A finding from before the review decides nothing any more: an operator does.
  if (conclusion.attemptHash === null) return state !== 'PENDING' || open.length > 0;
  return !open.includes(conclusion.attemptHash);
}

export function isForHalt(conclusion: Conclusion): boolean {
  return conclusion.kind === 'needsReview' && conclusion.cause === 'SIGNING_HALTED';
}

/** A call is not signed again while an attempt can still land, nor when it is settled or under review. */
export function maySign(state: Submission['state'], open: readonly unknown[]): boolean {
  return state === 'PENDING' && open.length === 0;
}
