/**
 * offRampQuote: the payout for an amount of receipt tokens after the fee, and when the quote expires.
 */
import type { Quote, QuoteRequest } from '../../ramp/port.ts';
import { RECEIPT_TOKEN_SYMBOL } from './createDeposit.ts';
import type { Needs } from '../core/dependencies.ts';

/** @throws DomainError RAMP_REFUSED (no rate for the currency, or too little to pay out), RAMP_UNAVAILABLE */
export async function quoteOffRamp(
  deps: Needs<'ramp'>,
  input: Omit<QuoteRequest, 'tokenSymbol'>,
): Promise<Quote> {
  return deps.ramp.quote({ ...input, tokenSymbol: RECEIPT_TOKEN_SYMBOL });
}
