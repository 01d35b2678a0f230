/**
 * Salts of deploys. A factory takes a salt once, and it is derived from what the contract is for, so no second
 * contract for the same can be deployed: by a deploy that is signed again, or after a loss of the database.
 */
import { createHmac } from 'node:crypto';
import type { Needs } from './dependencies.ts';

/** @param what begins with its kind, as in `carbon-credit:…` */
export function deploySaltOf({ saltKey }: Needs<'saltKey'>, what: string): string {
  return `0x${createHmac('sha256', saltKey).update(what).digest('hex')}`;
}
