/**
 * Which errors of a node are passing trouble of its own. The same question is answered later, so nothing final may be concluded
 * from them.
 */
import type { Answer, RpcError } from './jsonRpc.ts';

/** Whatever the question. "Limit exceeded" and "too many requests" may also be said of the size of a batch. */
export const ASKS_FOR_PATIENCE = /rate.?limit|timed? ?out|timeout/i;
const PATIENCE_CODES: ReadonlySet<number> = new Set([-32005, 429]);
const IS_BUSY =
  /too many requests|limit (exceeded|reached)|overloaded|busy|(service|temporarily) unavailable/i;
const INTERNAL_ERROR = -32_603;
/** A node behind a load balancer that has not seen a block yet says that there is no such header. */
const HEADER_IS_MISSING = /header (for hash )?not found/i;
const MAY_BE_PASSING = new RegExp(`internal error|${HEADER_IS_MISSING.source}`, 'i');
/** It does not pass, and some nodes say it with the code of an internal error. */
const STATE_IS_MISSING = /missing trie node|\bprun|\barchive\b|\b(state|histor\w*)\b.*available/i;

/** What certainly passes. Some nodes answer about history that they have pruned, or do not support, with an internal error. */
export function isBusy({ code, message }: RpcError): boolean {
  const isSaid = PATIENCE_CODES.has(code) || ASKS_FOR_PATIENCE.test(message) || IS_BUSY.test(message);
  return isSaid && !STATE_IS_MISSING.test(message);
}

/** What may pass, where asking again costs little, or what is sent may have got through. */
export function isTrouble(error: RpcError): boolean {
  const mayPass = error.code === INTERNAL_ERROR || MAY_BE_PASSING.test(error.message);
  return isBusy(error) || (mayPass && !STATE_IS_MISSING.test(error.message));
}

/** The block that was asked about, or its state. */
export function isBlockMissing({ message }: RpcError): boolean {
  return HEADER_IS_MISSING.test(message);
}

/** Null where the node can't answer, as about history that it has pruned. @throws RpcError of a busy node */
export function valueIfKept<T>(answer: Answer<T>): T | null {
  if ('value' in answer) return answer.value;
  if (isBusy(answer.error)) throw answer.error;
  return null;
}
