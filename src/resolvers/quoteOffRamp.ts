/**
 * offRampQuote: what an amount of receipt tokens would pay out, after the fee, and until when that holds.
 */
import type { Quote } from '../ramp/port.ts';
import { RECEIPT_TOKEN_SYMBOL } from './createDeposit.ts';
import type { Dependencies } from './dependencies.ts';

/** @throws DomainError RAMP_REJECTED (no rate for the currency, or too little to pay out), RAMP_UNAVAILABLE */
export async function quoteOffRamp(
  deps: Pick<Dependencies, 'ramp'>,
  input: { tokenAmount: bigint; fiatCurrency: string },
): Promise<Quote> {
  const { tokenAmount, fiatCurrency } = input;
  return deps.ramp.quote({ tokenAmount, tokenSymbol: RECEIPT_TOKEN_SYMBOL, fiatCurrency });
}
