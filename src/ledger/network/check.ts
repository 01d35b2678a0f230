/**
 * The results that `npm run ledger:check` prints about a configured network, one line each. Each family adds
 * its own checks (evm/checks.ts, stellar/checks.ts).
 */
import { createHash } from 'node:crypto';
import { messageOf } from '../../lib/errors.ts';
import type { NetworkCall } from './port.ts';

export interface Check {
  /** `wrong`: the server can't work. `worse`: it works with limitations. */
  result: 'right' | 'worse' | 'wrong';
  /** The subject of the check, in a word or two. */
  name: string;
  /** The result, with values and without secrets. */
  found: string;
  /** What to do, unless the result is `right`. */
  remedy?: string;
}

export function right(name: string, found: string): Check {
  return { result: 'right', name, found };
}

export function worse(name: string, found: string, remedy: string): Check {
  return { result: 'worse', name, found, remedy };
}

/** @param remedy left out if `found` says what to do */
export function wrong(name: string, found: string, remedy?: string): Check {
  return { result: 'wrong', name, found, ...(remedy === undefined ? {} : { remedy }) };
}

/** Runs one check; a check that fails to run is wrong too. */
export async function lookAt(name: string, look: () => Promise<Check>): Promise<Check> {
  try {
    return await look();
  } catch (error) {
    return wrong(name, messageOf(error));
  }
}

/** A salt that no asset has, and a hash that no document has. */
export const TRIAL_HASH = `0x${createHash('sha256').update('a trial that is never sent').digest('hex')}`;

/** A deployment that is simulated and never sent, to see whether the factory would take a real one. */
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
