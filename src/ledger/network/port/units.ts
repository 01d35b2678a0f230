/**
 * The units of the port.
 */

export type Address = string;
export type TransactionHash = string;
export type BaseUnits = bigint;
/** Seconds since 1970-01-01T00:00:00Z by the network's own clock. */
export type UnixSeconds = bigint;
/** `0x` and 64 lower-case hexadecimal digits. */
export type Hash32 = string;
