/**
 * Signatures of account keys, verified by Node itself: a busy ledger holds hundreds.
 */
import { createPublicKey, verify as verifySignature } from 'node:crypto';
import { StrKey } from '@stellar/stellar-sdk';

/** What stands before the 32 raw bytes in a DER-encoded ed25519 key. */
const DER_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Bytes that are no signature at all are simply not a good one. */
export function verify(address: string, payload: Buffer, signature: Buffer): boolean {
  if (signature.length !== 64) return false;
  const key = Buffer.concat([DER_PREFIX, StrKey.decodeEd25519PublicKey(address)]);
  try {
    return verifySignature(null, payload, createPublicKey({ key, format: 'der', type: 'spki' }), signature);
  } catch {
    return false;
  }
}
