/**
 * A deployment that is simulated and never sent: `ledger:check` asks with it whether the factory would take a real one.
 */
import { createHash } from 'node:crypto';
import type { NetworkCall } from './port.ts';

/** A salt that no asset has, and a hash that no document has. */
export const TRIAL_HASH = `0x${createHash('sha256').update('a trial that is never sent').digest('hex')}`;

export const TRIAL_DEPLOY: NetworkCall = {
  kind: 'deployCarbonCredit',
  salt: TRIAL_HASH,
  name: 'Trial',
  symbol: 'TRIAL',
  assetId: 'trial',
  countryCode: 'XX',
  metadata: {
    creditType: 'trial',
    verificationBodyRef: 'trial',
    vintageYear: 2024,
    quantityCO2e: 1n,
    projectLocation: 'nowhere',
    projectType: 'trial',
    verificationDocHash: TRIAL_HASH,
    lastUpdated: 0n,
  },
};
