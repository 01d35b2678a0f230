/**
 * Encrypts stored secrets with AES-256-GCM, so that a copy of the database alone reveals none. Also derives
 * the product's other keys, one per purpose.
 *
 *   v2.<key id>.<nonce, cipher text and tag>
 *
 * The key's id says which of several keys opens a text, so that one key can replace another. The place where
 * a text is stored is authenticated with it: copied to another row, it does not open.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 6;
/** Names the sealing method, so that a later one can exist beside it. */
const VERSION = 'v2';

/** Where a sealed text is stored. */
export interface SealedPlace {
  table: string;
  column: string;
  id: string;
}

/** The secrets from which the keys are derived: the first key seals, all of them open. */
export type SealingSecrets = readonly [string, ...string[]];

export interface Sealer {
  /** Seals under the first of the keys. */
  seal(plainText: string, place: SealedPlace): string;
  /** @throws when the text was sealed under a key that is not at hand, for another place, or was changed */
  unseal(sealed: string, place: SealedPlace): string;
  /** The beginning of each text that was sealed under the first of the keys. */
  currentPrefix: string;
}

/** One key per purpose, so that a leaked one reveals nothing about the others. */
export function deriveKey(appSecret: string, purpose: string, bytes = 32): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', appSecret, '', purpose, bytes));
}

export function createSealer(secrets: SealingSecrets): Sealer {
  const [current] = secrets;
  const keyOf = (secret: string) => deriveKey(secret, 'secrets at rest');
  const keys = new Map(secrets.map((secret) => [keyIdOf(secret), keyOf(secret)]));
  const currentPrefix = `${VERSION}.${keyIdOf(current)}.`;
  const currentKey = keyOf(current);
  return {
    currentPrefix,
    seal(plainText, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, currentKey, nonce);
      cipher.setAAD(authenticated(currentPrefix, place));
      const parts = [nonce, cipher.update(plainText, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${currentPrefix}${Buffer.concat(parts).toString('base64url')}`;
    },
    unseal(sealed, place) {
      const [version, keyId, body] = sealed.split('.');
      if (version !== VERSION || keyId === undefined || !body) {
        throw new Error(`the sealed text in ${nameOf(place)} has an unknown form`);
      }
      const key = keys.get(keyId);
      if (key === undefined) {
        throw new Error(`${nameOf(place)} is sealed under key ${keyId}, which SEALING_SECRETS does not have`);
      }
      const raw = Buffer.from(body, 'base64url');
      const tagAt = raw.length - TAG_BYTES;
      const decipher = createDecipheriv(ALGORITHM, key, raw.subarray(0, NONCE_BYTES));
      decipher.setAAD(authenticated(`${version}.${keyId}.`, place));
      decipher.setAuthTag(raw.subarray(tagAt));
      return Buffer.concat([decipher.update(raw.subarray(NONCE_BYTES, tagAt)), decipher.final()]).toString(
        'utf8',
      );
    },
  };
}

function keyIdOf(secret: string): string {
  return Buffer.from(deriveKey(secret, 'name of the key of secrets at rest', KEY_ID_BYTES)).toString('hex');
}

function authenticated(prefix: string, place: SealedPlace): Buffer {
  return Buffer.from(`${prefix}${nameOf(place)}`);
}

function nameOf({ table, column, id }: SealedPlace): string {
  return `${table}.${column} of ${id}`;
}
