/**
 * Converts whole units to base units and back: the one place that knows the 18 decimals.
 */

/** Tokens have 18 decimal places: one tonne CO2e or one kilogram is 10^18 base units. */
export const TOKEN_DECIMALS = 18;
export const BASE_UNITS_PER_WHOLE = 10n ** BigInt(TOKEN_DECIMALS);

/**
 * The largest whole amount: the books keep 64-bit integers. 2^63-1 whole units are 9.2 × 10^36 base units,
 * which also fits the i128 of Soroban contracts.
 */
export const MAX_WHOLE_UNITS = 2n ** 63n - 1n;

export function toBaseUnits(wholeUnits: bigint): bigint {
  return wholeUnits * BASE_UNITS_PER_WHOLE;
}

/** Rounded down; exact for every amount that this platform makes. */
export function toWholeUnits(baseUnits: bigint): bigint {
  return baseUnits / BASE_UNITS_PER_WHOLE;
}

/** The all-zero 32-byte hash that means "no document" in token metadata. */
export const ZERO_HASH = `0x${'00'.repeat(32)}`;
