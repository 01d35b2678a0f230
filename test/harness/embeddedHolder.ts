/**
 * A wallet on the embedded network.
 */
import { randomBytes } from 'node:crypto';
import { generateSecretKey, keypairOf } from '../../src/ledger/network/embedded/strkey.ts';
import type { Holder } from '../networks/world.ts';

export interface EmbeddedHolder extends Holder {
  secretKey: string;
}

export function createEmbeddedHolder(): EmbeddedHolder {
  const secretKey = generateSecretKey(randomBytes);
  const keypair = keypairOf(secretKey);
  return {
    secretKey,
    address: keypair.address,
    async sign({ payload }) {
      const bytes = Buffer.from(payload, 'utf8');
      return Buffer.concat([keypair.sign(bytes), bytes]).toString('base64');
    },
  };
}
