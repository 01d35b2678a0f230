/**
 * Recognises transient errors of a node: the same question is answered later, so nothing final may be
 * concluded from them.
 */
import type { Answer, RpcError } from './jsonRpc.ts';

/** "Limit exceeded" and "too many requests" are not in it: they may also mean a batch's size. */
export const RATE_LIMITED_OR_TIMED_OUT = /rate.?limit|timed? ?out|timeout/i;
const RATE_LIMIT_CODES: ReadonlySet<number> = new Set([-32005, 429]);
const IS_BUSY =
  /too many requests|limit (exceeded|reached)|overloaded|busy|(service|temporarily) unavailable/i;
const INTERNAL_ERROR = -32_603;
/** The error of a node behind a load balancer that has not seen a block yet. */
const HEADER_IS_MISSING = /header (for hash )?not found/i;
const MAY_BE_TRANSIENT = new RegExp(`internal error|${HEADER_IS_MISSING.source}`, 'i');
/** A missing state is permanent, and some nodes report it with the code of an internal error. */
const STATE_IS_MISSING = /missing trie node|\bprun|\barchive\b|\b(state|histor\w*)\b.*available/i;

/**
 * True for certainly transient errors. Some nodes answer about pruned or unsupported history with an internal
 * error.
 */
export function isBusy({ code, message }: RpcError): boolean {
  const isSaid =
    RATE_LIMIT_CODES.has(code) || RATE_LIMITED_OR_TIMED_OUT.test(message) || IS_BUSY.test(message);
  return isSaid && !STATE_IS_MISSING.test(message);
}

/**
 * True also for errors that may be transient, for callers where asking again costs little, or sent bytes may
 * have arrived.
 */
export function mayBeTransient(error: RpcError): boolean {
  const isPossible = error.code === INTERNAL_ERROR || MAY_BE_TRANSIENT.test(error.message);
  return isBusy(error) || (isPossible && !STATE_IS_MISSING.test(error.message));
}

/** Whether the node lacks the block that was asked about, or its state. */
export function isBlockMissing({ message }: RpcError): boolean {
  return HEADER_IS_MISSING.test(message);
}

/** Null if the node can't answer, as about pruned history. @throws RpcError of a busy node */
export function valueIfKept<T>(answer: Answer<T>): T | null {
  if ('value' in answer) return answer.value;
  if (isBusy(answer.error)) throw answer.error;
  return null;
}
