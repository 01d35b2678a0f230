/**
 * Payout accounts: sealed at rest, masked when shown, whole only for the ramp provider or the person who pays
 * manually.
 */
import { createHmac } from 'node:crypto';
import { sealedPlace } from '../../../db/sealedColumns.ts';
import type { PayoutAccount } from '../../../ramp/port.ts';
import type { Sealer } from '../../../lib/sealer.ts';

/** More characters do not help to recognise an account. */
const MAX_SHOWN_CHARACTERS = 4;

export interface PayoutAccounts {
  /** Seals the account for the off-ramp session with this id. */
  seal(account: PayoutAccount, sessionId: string): string;
  unseal(session: { id: string; sealedPayoutAccount: string | null }): PayoutAccount;
  /**
   * Distinguishes accounts without revealing them: account numbers are short enough to be guessed from a
   * plain hash.
   */
  fingerprint(account: PayoutAccount): string;
}

export function createPayoutAccounts(sealer: Sealer, fingerprintKey: Uint8Array): PayoutAccounts {
  return {
    seal: (account, sessionId) =>
      sealer.seal(JSON.stringify(account), sealedPlace('payoutAccount', sessionId)),
    unseal({ id, sealedPayoutAccount: sealed }) {
      if (sealed === null) throw new Error(`the payout account of off-ramp session ${id} is erased`);
      return JSON.parse(sealer.unseal(sealed, sealedPlace('payoutAccount', id))) as PayoutAccount;
    },
    fingerprint(account) {
      // Idempotency keys store it forever: a new member must not change the fingerprint of an account without
      // it.
      const given = Object.entries(account).filter(([, value]) => value !== undefined);
      const sorted = given.sort(([a], [b]) => (a < b ? -1 : 1));
      return createHmac('sha256', fingerprintKey)
        .update(`payout-account:${JSON.stringify(sorted)}`)
        .digest('hex');
    },
  };
}

/** Providers' names of the stored types. */
export const TYPE_AT_PROVIDERS = {
  MOBILE_MONEY: 'mobile-money',
  BANK: 'bank',
} as const satisfies Record<string, PayoutAccount['type']>;

export const payoutAccountTypeOf = ({ type }: PayoutAccount) =>
  type === TYPE_AT_PROVIDERS.BANK ? 'BANK' : 'MOBILE_MONEY';

/** Shows the last characters, at most a third of the number: "••••4321". */
export function maskAccountNumber(accountNumber: string): string {
  const characters = Array.from(accountNumber);
  const shown = Math.min(MAX_SHOWN_CHARACTERS, Math.floor(characters.length / 3));
  return `••••${shown === 0 ? '' : characters.slice(-shown).join('')}`;
}
