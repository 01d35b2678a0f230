/**
 * Sends signed bytes and classifies the node's answer, which is only a hint.
 */
import { bytesToHex, keccak256, parseTransaction } from 'viem';
import type { Hash } from 'viem';
import { NetworkUnavailable } from '../port.ts';
import type { BroadcastAnswer } from '../port.ts';
import type { JsonRpc, RpcError } from './jsonRpc.ts';
import { ask } from './node.ts';
import { mayBeTransient } from './transientErrors.ts';

/** Nodes accept no larger transaction. */
export const MAX_TRANSACTION_BYTES = 128 * 1024;

const ALREADY_THERE = /already (known|imported|exists)|known transaction|transaction already/i;
const NONCE_USED = /nonce (is )?too low|old ?nonce|nonce .*already|invalid nonce.*expected/i;

export async function broadcastBytes(rpc: JsonRpc, signedBytes: Uint8Array): Promise<BroadcastAnswer> {
  const problem = problemOf(signedBytes);
  if (problem !== null) return { status: 'refused', reason: problem };
  const signed = bytesToHex(signedBytes);
  try {
    const [sent] = await rpc.askTogether([ask.send(signed)]);
    if ('value' in sent) return { status: 'accepted' };
    return await classify(rpc, keccak256(signed), sent.error);
  } catch (error) {
    if (error instanceof NetworkUnavailable) return { status: 'unknown', reason: error.message };
    throw error;
  }
}

async function classify(rpc: JsonRpc, hash: Hash, error: RpcError): Promise<BroadcastAnswer> {
  const { message } = error;
  if (ALREADY_THERE.test(message)) return { status: 'accepted' };
  const isUndecided = NONCE_USED.test(message) || mayBeTransient(error);
  // Nodes word an already known transaction in many ways, and some check the funds first, which may be short
  // after the transaction has landed. A used nonce was used by this transaction or another one: only a final
  // block shows which.
  const [found] = await rpc.askTogether([ask.transaction(hash)]);
  if ('value' in found && found.value !== null) return { status: 'accepted' };
  return { status: isUndecided ? 'unknown' : 'refused', reason: message };
}

/**
 * The problem for which every node would refuse the bytes, found without a request; null if there is none.
 */
function problemOf(signedBytes: Uint8Array): string | null {
  if (signedBytes.length === 0) return 'There are no bytes';
  if (signedBytes.length > MAX_TRANSACTION_BYTES) {
    return `${signedBytes.length} bytes are more than a transaction may have, ${MAX_TRANSACTION_BYTES}`;
  }
  try {
    parseTransaction(bytesToHex(signedBytes));
    return null;
  } catch {
    return 'The bytes are no transaction';
  }
}
