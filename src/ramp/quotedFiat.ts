/**
 * Compares the payout of a provider with its quote.
 */
import { canonicalDecimal, type Decimal } from '../lib/decimals.ts';
import type { RampAnswer } from './port.ts';

/** @returns a sentence with both amounts when they differ; null also when the provider states no amount */
export function describeOtherFiat(
  quoted: { fiatCurrency: string; fiatAmount: Decimal },
  { fiat }: RampAnswer,
): string | null {
  const { currency = quoted.fiatCurrency, amount = quoted.fiatAmount } = fiat ?? {};
  const isSame = canonicalDecimal(amount) === canonicalDecimal(quoted.fiatAmount);
  if (currency === quoted.fiatCurrency && isSame) return null;
  return `the quote is ${quoted.fiatAmount} ${quoted.fiatCurrency}, its provider pays ${amount} ${currency}`;
}
