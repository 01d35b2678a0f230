/**
 * The units of the port.
 */

/** In the one spelling that `normalizeAddress` gives it. */
export type Address = string;
/**
 * In the network's own form: hexadecimal, with `0x` on EVM chains and on the embedded network, without on
 * Stellar.
 */
export type TransactionHash = string;
/** 10^-18 tonne or kilogram. */
export type BaseUnits = bigint;
/** Seconds since 1970-01-01T00:00:00Z by the network's own clock. */
export type UnixSeconds = bigint;
/** `0x` and 64 lower-case hexadecimal digits. */
export type Hash32 = string;
