/**
 * Transactions as bytes: how they are signed, hashed and verified.
 *
 *   signed bytes = signature (64 bytes) ‖ payload
 *   payload      = canonical JSON: object keys sorted, no spaces, big integers tagged `{"i":"123"}`
 *   hash         = 0x ‖ SHA-256(payload); the payload names the network, so no other network has this hash
 *
 * One transaction has one payload: bytes that decode to a transaction but are not its canonical form are
 * refused. Otherwise the same call could land twice under two hashes.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { refused } from '../port.ts';
import type { Address, TransactionHash, UnixSeconds } from '../port.ts';
import { checkInvocation } from './calls.ts';
import type { Invocation } from './calls.ts';
import { verifyAccountSignature } from '../../../lib/strkey.ts';
import type { Keypair } from '../../../lib/strkey.ts';

export interface Transaction {
  networkId: string;
  source: Address;
  /** Random, hexadecimal: distinguishes two equal calls. */
  nonce: string;
  validUntil: UnixSeconds;
  invocation: Invocation;
}

export interface SignedTransaction {
  transaction: Transaction;
  hash: TransactionHash;
  signedBytes: Uint8Array;
}

const SIGNATURE_BYTES = 64;
/** Maximum payload: metadata and texts of a call take a few kilobytes, and a ledger must stay small. */
const MAX_PAYLOAD_BYTES = 16_384;

const envelopeSchema = z.strictObject({
  networkId: z.string().max(128),
  source: z.string().max(56),
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  validUntil: z.bigint(),
  invocation: z.unknown(),
});

/**
 * The payload that is signed. The transaction's invocation must have passed checkInvocation.
 * @throws NetworkRefusal OTHER if the transaction is too long
 */
export function encodeTransaction(transaction: Transaction): Uint8Array {
  const payload = Buffer.from(canonicalJson(transaction), 'utf8');
  if (payload.length > MAX_PAYLOAD_BYTES) {
    throw refused(
      'OTHER',
      `The transaction takes ${payload.length} bytes, the network allows ${MAX_PAYLOAD_BYTES}`,
    );
  }
  return payload;
}

/**
 * Transactions that this process signed, by the object of their bytes: decoding and verifying them again
 * would take a tenth of a retirement's time. Bytes from the database or a wallet are another object.
 */
const signedHere = new WeakMap<Uint8Array, SignedTransaction>();

/** @throws like `encodeTransaction` */
export function signTransaction(transaction: Transaction, keypair: Keypair): SignedTransaction {
  const payload = encodeTransaction(transaction);
  const signedBytes = Buffer.concat([keypair.sign(payload), payload]);
  const signed = { transaction, hash: hashOf(payload), signedBytes };
  if (keypair.address === transaction.source) signedHere.set(signedBytes, signed);
  return signed;
}

/**
 * Decodes and verifies a signed transaction of the network `networkId`.
 * @returns the transaction, or the reason why the bytes are not a transaction
 */
export function openTransaction(signedBytes: Uint8Array, networkId: string): SignedTransaction | string {
  const own = signedHere.get(signedBytes);
  if (own !== undefined && own.transaction.networkId === networkId) return own;
  if (signedBytes.length <= SIGNATURE_BYTES || signedBytes.length > SIGNATURE_BYTES + MAX_PAYLOAD_BYTES) {
    return `not a transaction: ${signedBytes.length} bytes`;
  }
  const signature = signedBytes.subarray(0, SIGNATURE_BYTES);
  const payload = signedBytes.subarray(SIGNATURE_BYTES);
  let transaction: Transaction;
  try {
    const envelope = envelopeSchema.parse(parseCanonicalJson(Buffer.from(payload).toString('utf8')));
    transaction = { ...envelope, invocation: checkInvocation(envelope.invocation) };
  } catch {
    return 'not a transaction: the payload does not decode';
  }
  if (!Buffer.from(canonicalJson(transaction), 'utf8').equals(payload)) return 'not in canonical form';
  if (transaction.networkId !== networkId) return `made for the network ${transaction.networkId}`;
  if (!verifyAccountSignature(transaction.source, payload, signature)) return 'bad signature';
  return { transaction, hash: hashOf(payload), signedBytes };
}

function hashOf(payload: Uint8Array): TransactionHash {
  return `0x${createHash('sha256').update(payload).digest('hex')}`;
}

function canonicalJson(value: unknown): string {
  if (typeof value === 'bigint') return `{"i":"${value}"}`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`;
}

function parseCanonicalJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('i' in value)) return value;
    const tagged = taggedIntegerSchema.safeParse(value);
    return tagged.success ? BigInt(tagged.data.i) : value;
  });
}

/** Up to 40 characters: an i128 with its sign. */
const taggedIntegerSchema = z.strictObject({ i: z.string().regex(/^-?[0-9]{1,39}$/) });
