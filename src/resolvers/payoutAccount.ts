/**
 * Payout accounts: sealed at rest, masked when shown, whole only on the way to the ramp provider.
 */
import { createHmac } from 'node:crypto';
import type { PayoutAccount } from '../ramp/port.ts';
import type { Sealer } from '../sealer.ts';

/** More would help nobody to recognise their account. */
const MAX_SHOWN_CHARACTERS = 4;

export function sealAccount(sealer: Sealer, account: PayoutAccount): string {
  return sealer.seal(JSON.stringify(account));
}

export function unsealAccount(sealer: Sealer, sealed: string): PayoutAccount {
  return JSON.parse(sealer.unseal(sealed)) as PayoutAccount;
}

/** The last characters, a third of them at most: "••••4321". */
export function maskAccountNumber(accountNumber: string): string {
  const characters = Array.from(accountNumber);
  const shown = Math.min(MAX_SHOWN_CHARACTERS, Math.floor(characters.length / 3));
  return `••••${shown === 0 ? '' : characters.slice(-shown).join('')}`;
}

/** Tells two accounts apart without saying anything of either: account numbers are short enough to be tried out. */
export function fingerprintAccount(key: Uint8Array, account: PayoutAccount): string {
  const sorted = Object.entries(account).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHmac('sha256', key)
    .update(`payout-account:${JSON.stringify(sorted)}`)
    .digest('hex');
}
