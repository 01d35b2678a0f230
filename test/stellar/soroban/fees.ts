/**
 * What resources cost, and how many a transaction may declare. Close to the public network's own settings,
 * without their growth with the size of the ledger's state.
 */
import type { xdr } from '@stellar/stellar-sdk';

/** Stroops for one operation when the network is not busy. */
export const BASE_FEE = 100n;

export interface Resources {
  instructions: number;
  readBytes: number;
  writeBytes: number;
  readEntries: number;
  writeEntries: number;
}

export const LIMITS = {
  instructions: 100_000_000,
  readBytes: 200_000,
  writeBytes: 132_096,
  footprintEntries: 100,
  writeEntries: 50,
  transactionBytes: 132_096,
} as const;

/** Declared resources, from a transaction. */
export function declaredResources(data: xdr.SorobanTransactionData): Resources {
  const resources = data.resources();
  const footprint = resources.footprint();
  return {
    instructions: resources.instructions(),
    readBytes: resources.diskReadBytes(),
    writeBytes: resources.writeBytes(),
    readEntries: footprint.readOnly().length + footprint.readWrite().length,
    writeEntries: footprint.readWrite().length,
  };
}

export function areWithinLimits(resources: Resources, transactionBytes: number): boolean {
  return (
    resources.instructions <= LIMITS.instructions &&
    resources.readBytes <= LIMITS.readBytes &&
    resources.writeBytes <= LIMITS.writeBytes &&
    resources.readEntries <= LIMITS.footprintEntries &&
    resources.writeEntries <= LIMITS.writeEntries &&
    transactionBytes <= LIMITS.transactionBytes
  );
}

/** Paid for what is declared, used or not. */
export function nonRefundableFee(resources: Resources, transactionBytes: number): bigint {
  return (
    perUnit(resources.instructions, 25n, 10_000n) +
    BigInt(resources.readEntries) * 6_250n +
    BigInt(resources.writeEntries) * 10_000n +
    perUnit(resources.readBytes, 1_786n, 1_024n) +
    perUnit(resources.writeBytes, 11_800n, 1_024n) +
    perUnit(transactionBytes, 17_859n, 1_024n)
  );
}

/** Paid for what is used: events, the return value, and the rent of what lives longer than before. */
export function refundableFee(eventBytes: number, rentedBytes: number): bigint {
  return perUnit(eventBytes, 10_000n, 1_024n) + perUnit(rentedBytes, 20_000n, 1_024n);
}

function perUnit(amount: number, fee: bigint, unit: bigint): bigint {
  return (BigInt(amount) * fee + unit - 1n) / unit;
}
