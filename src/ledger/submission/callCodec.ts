/**
 * Network calls as JSON, with exact integers of any size.
 */
import { decodeExact, encodeExact } from './exactJson.ts';
import type { NetworkCall } from '../network/port.ts';

export function encodeCall(call: NetworkCall): unknown {
  return encodeExact(call);
}

/** Reads what `encodeCall` wrote; database rules keep it unchanged in between. */
export function decodeCall(stored: unknown): NetworkCall {
  return decodeExact(stored) as NetworkCall;
}
