/**
 * Stellar strkeys and the ed25519 keys behind them: the spelling of every address on this network.
 *
 * A strkey is base32 (RFC 4648, no padding) of: one version byte, 32 bytes of payload, and a CRC16-XModem
 * checksum with the low byte first. 35 bytes are exactly 56 characters, so a valid payload has one
 * spelling only. `G…` is an account (an ed25519 public key), `C…` a contract, `S…` a secret seed.
 */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const VERSION_BYTES = { account: 6 << 3, contract: 2 << 3, seed: 18 << 3 } as const;

export type StrkeyKind = keyof typeof VERSION_BYTES;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const PAYLOAD_BYTES = 32;
const STRKEY_PATTERN = /^[A-Z2-7]{56}$/;

/** The fixed DER head of a PKCS#8 ed25519 private key; the 32-byte seed follows it. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
/** The fixed DER head of an SPKI ed25519 public key; the 32-byte key follows it. */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** A source of random bytes, such as `crypto.randomBytes`. */
export type RandomBytes = (length: number) => Uint8Array;

export interface DecodedStrkey {
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
  const body = Buffer.concat([Uint8Array.of(VERSION_BYTES[kind]), payload]);
  const checksum = crc16(body);
  return toBase32(Buffer.concat([body, Uint8Array.of(checksum & 0xff, checksum >> 8)]));
}

/** What a strkey says, or null when the text is not exactly one valid account, contract or seed strkey. */
export function decodeStrkey(text: string): DecodedStrkey | null {
  if (!STRKEY_PATTERN.test(text)) return null;
  const bytes = fromBase32(text);
  const body = bytes.subarray(0, 1 + PAYLOAD_BYTES);
  const checksum = crc16(body);
  if (bytes[33] !== (checksum & 0xff) || bytes[34] !== checksum >> 8) return null;
  for (const kind of ['account', 'contract', 'seed'] as const) {
    if (VERSION_BYTES[kind] === body[0]) return { kind, payload: body.subarray(1) };
  }
  return null;
}

/** True for something that can hold tokens: an account or a contract, never a seed. */
export function isAddress(text: string): boolean {
  const decoded = decodeStrkey(text);
  return decoded !== null && decoded.kind !== 'seed';
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
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_HEAD, decoded.payload]),
    format: 'der',
    type: 'pkcs8',
  });
  return {
    address: encodeStrkey('account', publicBytesOf(privateKey)),
    sign: (message) => sign(null, message, privateKey),
  };
}

/** True when `signature` over `message` was made with the key of the account `address`. Never throws. */
export function verifyAccountSignature(address: string, message: Uint8Array, signature: Uint8Array): boolean {
  const decoded = decodeStrkey(address);
  if (decoded?.kind !== 'account') return false;
  try {
    const key = createPublicKey({
      key: Buffer.concat([SPKI_HEAD, decoded.payload]),
      format: 'der',
      type: 'spki',
    });
    return verify(null, message, key, signature);
  } catch {
    // 32 bytes that are no point on the curve: no signature can be right for them.
    return false;
  }
}

function publicBytesOf(privateKey: KeyObject): Uint8Array {
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return spki.subarray(SPKI_HEAD.length);
}

/** CRC16-XModem: polynomial 0x1021, initial value 0, no reflection. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ 0x1021) & 0xffff;
    }
  }
  return crc;
}

function toBase32(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET.charAt((buffer >> bits) & 31);
    }
  }
  return text;
}

function fromBase32(text: string): Uint8Array {
  const bytes = new Uint8Array((text.length * 5) / 8);
  let buffer = 0;
  let bits = 0;
  let length = 0;
  for (const character of text) {
    buffer = ((buffer << 5) | ALPHABET.indexOf(character)) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[length] = (buffer >> bits) & 0xff;
      length += 1;
    }
  }
  return bytes;
}
