/**
 * Whether a provider pays what it has quoted.
 */
import { canonicalDecimal, type Decimal } from '../lib/decimals.ts';
import type { RampAnswer } from './port.ts';

/** @returns a sentence with both amounts when they differ; null also when the provider does not say what it pays */
export function describeOtherFiat(
  quoted: { fiatCurrency: string; fiatAmount: Decimal },
  { fiat }: RampAnswer,
): string | null {
  if (fiat === undefined) return null;
  const isSame = canonicalDecimal(fiat.amount) === canonicalDecimal(quoted.fiatAmount);
  if (fiat.currency === quoted.fiatCurrency && isSame) return null;
  return `the quote is ${quoted.fiatAmount} ${quoted.fiatCurrency}, its provider pays ${fiat.amount} ${fiat.currency}`;
}
