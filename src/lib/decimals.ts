/**
 * Exact decimals for money: an integer and a number of decimal places. Floats would lose cents.
 */

/** A decimal number as text: digits, and a point with more digits. Never a float. */
export type Decimal = string;

interface Scaled {
  /** The number times 10^scale. */
  units: bigint;
  scale: number;
}

/** Limits rates and amounts of money to 30 digits before the point and 18 after it. */
export const DECIMAL_PATTERN = /^(0|[1-9]\d{0,29})(\.\d{1,18})?$/;

/** Null unless the text is a plain, non-negative decimal: no sign, exponent or spaces. */
export function parseDecimal(text: string): Scaled | null {
  if (!DECIMAL_PATTERN.test(text)) return null;
  const [whole = '', fraction = ''] = text.split('.');
  return { units: BigInt(whole + fraction), scale: fraction.length };
}

/** Returns the number with all its decimal places: `{ units: 1050n, scale: 2 }` is "10.50". */
export function formatDecimal({ units, scale }: Scaled): Decimal {
  if (scale === 0) return units.toString();
  const digits = units.toString().padStart(scale + 1, '0');
  return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** `whole` × 10^scale ÷ `divisor`, as an integer of that scale, rounded down. */
export function divideDown(whole: bigint, divisor: Scaled, scale: number): bigint {
  return (whole * 10n ** BigInt(divisor.scale + scale)) / divisor.units;
}

/** `parts` per `base` of an amount, rounded up. */
export function shareUp(amount: bigint, parts: bigint, base: bigint): bigint {
  return (amount * parts + base - 1n) / base;
}

/** Returns the number's one spelling, without zeros at the end, so that equal numbers are equal texts. */
export function canonicalDecimal(text: Decimal): Decimal {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** Returns the exact product, in its one spelling. */
export function timesWhole(text: Decimal, whole: bigint): Decimal {
  const scaled = parseDecimal(text);
  if (!scaled) throw new Error(`${text} is no decimal`);
  return canonicalDecimal(formatDecimal({ units: scaled.units * whole, scale: scaled.scale }));
}
