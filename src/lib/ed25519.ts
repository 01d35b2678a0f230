/**
 * Converts Ed25519 keys from their 32 bytes to keys of Node's crypto and back (RFC 8410).
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** The bytes before the seed in PKCS #8, and before the public key in SPKI. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** @param seed 32 secret bytes */
export function privateKeyOf(seed: Uint8Array): KeyObject {
  // Buffer.concat would take memory from Node's pool, which would be reused with the seed in it.
  const der = Buffer.alloc(PKCS8_HEAD.length + seed.length);
  der.set(PKCS8_HEAD);
  der.set(seed, PKCS8_HEAD.length);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  der.fill(0);
  return key;
}

/** @param bytes the 32 bytes of the public key */
export function publicKeyOf(bytes: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: 'der', type: 'spki' });
}

/** The 32 bytes of the public key. */
export function publicBytesOf(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD.length);
}
