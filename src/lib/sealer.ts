/**
 * Encrypts stored secrets with AES-256-GCM under a key derived from APP_SECRET, so that a copy of the database alone
 * reveals none. Also derives the product's other keys, one per purpose.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Names the sealing method, so that a later one can exist beside it. */
const VERSION = 'v1';

export interface Sealer {
  seal(plainText: string): string;
  /** @throws when the text was sealed under another key, or was changed */
  unseal(sealed: string): string;
}

/** One key per purpose, so that a leaked one reveals nothing about the others. */
export function deriveKey(appSecret: string, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', appSecret, '', purpose, 32));
}

export function createSealer(key: Uint8Array, random: (size: number) => Uint8Array = randomBytes): Sealer {
  return {
    seal(plainText) {
      const nonce = random(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce);
      const sealed = Buffer.concat([
        nonce,
        cipher.update(plainText, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ]);
      return `${VERSION}.${sealed.toString('base64url')}`;
    },
    unseal(sealed) {
      const [version, body] = sealed.split('.');
      if (version !== VERSION || !body) throw new Error('sealed text of an unknown form');
      const raw = Buffer.from(body, 'base64url');
      const decipher = createDecipheriv(ALGORITHM, key, raw.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(raw.subarray(raw.length - TAG_BYTES));
      const plain = decipher.update(raw.subarray(NONCE_BYTES, raw.length - TAG_BYTES));
      return Buffer.concat([plain, decipher.final()]).toString('utf8');
    },
  };
}
