/**
 * Whether a provider pays what it has quoted.
 */
import { parseDecimal, type Decimal } from '../lib/decimals.ts';
import type { RampAnswer } from './port.ts';

/** @returns a sentence with both amounts when they differ; null also when the provider does not say what it pays */
export function describeOtherFiat(
  quoted: { fiatCurrency: string; fiatAmount: Decimal },
  { fiat }: RampAnswer,
): string | null {
  if (fiat === undefined) return null;
  if (fiat.currency === quoted.fiatCurrency && isSameAmount(fiat.amount, quoted.fiatAmount)) return null;
  return `the quote is ${quoted.fiatAmount} ${quoted.fiatCurrency}, its provider pays ${fiat.amount} ${fiat.currency}`;
}

function isSameAmount(a: Decimal, b: Decimal): boolean {
  const [x, y] = [parseDecimal(a), parseDecimal(b)];
  if (x === null || y === null) return false;
  return x.units * 10n ** BigInt(y.scale) === y.units * 10n ** BigInt(x.scale);
}
