/**
 * The results that `npm run ledger:check` prints about a configured network, one line each. Each family adds
 * its own checks (evm/checks.ts, stellar/checks.ts).
 */
import { createHash } from 'node:crypto';
import { messageOf } from '../../lib/errors.ts';
import type { NetworkCall } from './port.ts';

export interface Check {
  /** `fail`: the server can't work. `warn`: it works with limitations. */
  result: 'pass' | 'warn' | 'fail';
  /** The subject of the check, in a word or two. */
  name: string;
  /** The result, with values and without secrets. */
  found: string;
  /** What to do, unless the result is `pass`. */
  remedy?: string;
}

export function pass(name: string, found: string): Check {
  return { result: 'pass', name, found };
}

export function warn(name: string, found: string, remedy: string): Check {
  return { result: 'warn', name, found, remedy };
}

/** @param remedy left out if `found` says what to do */
export function fail(name: string, found: string, remedy?: string): Check {
  return { result: 'fail', name, found, ...(remedy === undefined ? {} : { remedy }) };
}

/** Runs one check; a check that fails to run fails too. */
export async function runCheck(name: string, check: () => Promise<Check>): Promise<Check> {
  try {
    return await check();
  } catch (error) {
    return fail(name, messageOf(error));
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
