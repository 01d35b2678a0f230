/**
 * Signatures of account keys.
 */
import { Keypair } from '@stellar/stellar-sdk';

/** Bytes that are no signature at all are simply not a good one. */
export function verify(address: string, payload: Buffer, signature: Buffer): boolean {
  try {
    return Keypair.fromPublicKey(address).verify(payload, signature);
  } catch {
    return false;
  }
}
