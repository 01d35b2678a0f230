/**
 * Stellar strkeys and the ed25519 keys behind them: the spelling of every address on the embedded and Stellar
 * networks. `G…` is an account (an ed25519 public key), `C…` a contract, `S…` a secret seed; a payload has
 * one spelling only.
 *
 * Only the strkey file of the SDK is loaded: the whole SDK takes a quarter of a second and 20 MB, which the
 * embedded network does without. Node's own crypto signs.
 */
import { sign, verify, type KeyObject } from 'node:crypto';
import { StrKey } from '@stellar/stellar-base/lib/strkey.js';
import { privateKeyOf, publicBytesOf, publicKeyOf } from './ed25519.ts';

/** The ends of the names of the library's functions. */
const NAMES = { account: 'Ed25519PublicKey', contract: 'Contract', seed: 'Ed25519SecretSeed' } as const;

type StrkeyKind = keyof typeof NAMES;

const KINDS_BY_LETTER: Readonly<Record<string, StrkeyKind>> = { G: 'account', C: 'contract', S: 'seed' };
const PAYLOAD_BYTES = 32;

/** A source of random bytes, such as `crypto.randomBytes`. */
export type RandomBytes = (length: number) => Uint8Array;

interface DecodedStrkey {
  kind: StrkeyKind;
  payload: Uint8Array;
}

/** An ed25519 key pair that signs for one account. */
export interface Keypair {
  /** The `G…` strkey of the public key. */
  address: string;
  sign(message: Uint8Array): Uint8Array;
}

/** @throws RangeError unless `payload` is 32 bytes */
export function encodeStrkey(kind: StrkeyKind, payload: Uint8Array): string {
  if (payload.length !== PAYLOAD_BYTES) {
    throw new RangeError(`A strkey holds ${PAYLOAD_BYTES} bytes, not ${payload.length}`);
  }
  return StrKey[`encode${NAMES[kind]}`](Buffer.from(payload));
}

/** The strkey's kind and payload; null for text that is not exactly one valid account, contract or seed. */
export function decodeStrkey(text: string): DecodedStrkey | null {
  // The first letter gives the kind, because the library creates an Error for each wrong kind.
  const kind = KINDS_BY_LETTER[text.charAt(0)];
  if (kind === undefined || !StrKey[`isValid${NAMES[kind]}`](text)) return null;
  return { kind, payload: Uint8Array.from(StrKey[`decode${NAMES[kind]}`](text)) };
}

/** Maximum addresses found valid, and keys of accounts: requests name the same few again and again. */
const MAX_REMEMBERED = 10_000;
const valid = new Set<string>();
const keys = new Map<string, KeyObject>();

/** True for an account or a contract, which can hold tokens; false for a seed. */
export function isAddress(text: string): boolean {
  if (valid.has(text)) return true;
  const decoded = decodeStrkey(text);
  if (decoded === null || decoded.kind === 'seed') return false;
  if (valid.size >= MAX_REMEMBERED) valid.clear();
  valid.add(text);
  return true;
}

/** A fresh `S…` seed. */
export function generateSecretKey(randomBytes: RandomBytes): string {
  return encodeStrkey('seed', randomBytes(PAYLOAD_BYTES));
}

/**
 * The `G…` address that a secret key signs for.
 * @throws Error when the text is no `S…` strkey; the message never repeats it
 */
export function addressOfSecretKey(secretKey: string): string {
  return keypairOf(secretKey).address;
}

/** @throws like `addressOfSecretKey` */
export function keypairOf(secretKey: string): Keypair {
  const decoded = decodeStrkey(secretKey);
  if (decoded?.kind !== 'seed') {
    throw new Error(
      'The secret key is not a Stellar seed: expected "S" and 55 more characters with a valid checksum',
    );
  }
  const privateKey = privateKeyOf(decoded.payload);
  return {
    address: encodeStrkey('account', publicBytesOf(privateKey)),
    sign: (message) => sign(null, message, privateKey),
  };
}

/** True when `signature` over `message` was made with the key of the account `address`. Never throws. */
export function verifyAccountSignature(address: string, message: Uint8Array, signature: Uint8Array): boolean {
  const key = keyOfAccount(address);
  // No signature is valid for 32 bytes that are no point on the curve.
  return key !== null && verify(null, message, key, signature);
}

function keyOfAccount(address: string): KeyObject | null {
  const known = keys.get(address);
  if (known) return known;
  const decoded = decodeStrkey(address);
  if (decoded?.kind !== 'account') return null;
  const key = publicKeyOf(decoded.payload);
  if (keys.size >= MAX_REMEMBERED) keys.clear();
  keys.set(address, key);
  return key;
}
