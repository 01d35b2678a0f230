/**
 * Every column that holds sealed texts. Sealing and opening name one of them, and `npm run sealing:rotate`
 * goes through them all.
 */
import type { SealedPlace } from '../lib/sealer.ts';

export const SEALED_COLUMNS = {
  /** The secret with which the indexer signs its deliveries. */
  registrationSecret: { table: 'indexer_registrations', column: 'sealed_secret' },
  payoutAccount: { table: 'off_ramp_sessions', column: 'sealed_payout_account' },
} as const;

/** The place of a row's sealed text. */
export function sealedPlace(column: keyof typeof SEALED_COLUMNS, id: string): SealedPlace {
  return { ...SEALED_COLUMNS[column], id };
}
