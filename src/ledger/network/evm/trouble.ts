/**
 * Which errors of a node are passing trouble of its own. The same question is answered later, so nothing final may be concluded
 * from them.
 */
import type { Answer, RpcError } from './jsonRpc.ts';

const CODES: ReadonlySet<number> = new Set([-32603, -32005, 429]);
/** Whatever the question. "Limit exceeded" and "too many requests" may also be said of the size of a batch. */
export const ASKS_FOR_PATIENCE = /rate.?limit|timed? ?out|timeout/i;
/** A node behind a load balancer that has not seen a block yet says that there is no such header. */
const OTHER_WORDS =
  /internal error|too many requests|limit (exceeded|reached)|overloaded|busy|(service|temporarily) unavailable|header (for hash )?not found/i;
/** It does not pass, and some nodes say it with the code of an internal error. */
const STATE_IS_MISSING = /missing trie node|\bprun|\barchive\b|\b(state|histor\w*)\b.*available/i;

export function isTrouble({ code, message }: RpcError): boolean {
  const isSaid = CODES.has(code) || ASKS_FOR_PATIENCE.test(message) || OTHER_WORDS.test(message);
  return isSaid && !STATE_IS_MISSING.test(message);
}

/** Null where the node can't answer, as about history that it has pruned. @throws RpcError of passing trouble */
export function valueIfKept<T>(answer: Answer<T>): T | null {
  if ('value' in answer) return answer.value;
  if (isTrouble(answer.error)) throw answer.error;
  return null;
}
