/**
 * offRampQuote: the payout for an amount of receipt tokens after the fee, and when the quote expires: after a
 * day at most.
 */
import { readDatabaseTime } from '../../db/databaseTime.ts';
import type { Quote, QuoteRequest } from '../../ramp/port.ts';
import { RECEIPT_TOKEN_SYMBOL } from './createDeposit.ts';
import type { Needs } from '../core/dependencies.ts';

/**
 * Maximum lifetime of a quote. Openings wait this long for the provider, and deposits for a signature: a
 * quote valid for years would reserve its kilograms for years.
 */
const LONGEST_QUOTE_MS = 24 * 60 * 60_000;

/** @throws DomainError RAMP_REFUSED (no rate for the currency, or too little to pay out), RAMP_UNAVAILABLE */
export async function quoteOffRamp(
  deps: Needs<'db' | 'ramp'>,
  input: Omit<QuoteRequest, 'tokenSymbol'>,
): Promise<Quote> {
  const [quote, now] = await Promise.all([
    deps.ramp.quote({ ...input, tokenSymbol: RECEIPT_TOKEN_SYMBOL }),
    readDatabaseTime(deps.db),
  ]);
  const latest = now.getTime() + LONGEST_QUOTE_MS;
  return { ...quote, expiresAt: new Date(Math.min(quote.expiresAt.getTime(), latest)) };
}
