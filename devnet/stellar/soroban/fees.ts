/**
 * What resources cost, and how many a transaction may declare: the public network's own formula, with its
 * settings, without their growth with the size of the ledger's state.
 */
import type { xdr } from '@stellar/stellar-sdk';
import { hasTimeToLive } from './ledgerKeys.ts';

/** Stroops for one operation when the network is not busy. */
export const BASE_FEE = 100n;

/** Stroops; published as the network's configuration. */
export const FEES = {
  perInstructionIncrement: 25n,
  perReadEntry: 6_250n,
  perWriteEntry: 10_000n,
  perReadKilobyte: 1_786n,
  perWriteKilobyte: 875n,
  perHistoricalKilobyte: 16_235n,
  perEventKilobyte: 10_000n,
  perTransactionKilobyte: 1_624n,
  /** For living the whole time that contracts give what they write. */
  perRentedKilobyte: 20_000n,
} as const;

export const LIMITS = {
  instructions: 100_000_000,
  readEntries: 100,
  readBytes: 200_000,
  writeBytes: 132_096,
  footprintEntries: 100,
  writeEntries: 50,
  transactionBytes: 132_096,
  eventBytes: 16_384,
} as const;

/** From here on contract data is kept in memory: only accounts and archived entries are read from disk. */
export const MEMORY_STATE_PROTOCOL = 23;

const INSTRUCTION_INCREMENT = 10_000n;
const KILOBYTE = 1_024n;
/** What a transaction's result takes up in history, roughly. */
const RESULT_BYTES = 300;

export interface Resources {
  instructions: number;
  readBytes: number;
  writeBytes: number;
  /** Those that are paid for as reads from disk. */
  readEntries: number;
  writeEntries: number;
  footprintEntries: number;
}

interface FootprintKeys {
  readOnly: readonly xdr.LedgerKey[];
  readWrite: readonly xdr.LedgerKey[];
}

/** Declared resources, from a transaction. */
export function declaredResources(data: xdr.SorobanTransactionData, protocolVersion: number): Resources {
  const resources = data.resources();
  const footprint = {
    readOnly: resources.footprint().readOnly(),
    readWrite: resources.footprint().readWrite(),
  };
  const restored = data.ext().switch() === 1 ? data.ext().resourceExt().archivedSorobanEntries().length : 0;
  return {
    instructions: resources.instructions(),
    readBytes: resources.diskReadBytes(),
    writeBytes: resources.writeBytes(),
    ...entryCounts(footprint, restored, protocolVersion),
  };
}

export function entryCounts(
  footprint: FootprintKeys,
  restored: number,
  protocolVersion: number,
): Pick<Resources, 'readEntries' | 'writeEntries' | 'footprintEntries'> {
  const all = [...footprint.readOnly, ...footprint.readWrite];
  const isMemoryState = protocolVersion >= MEMORY_STATE_PROTOCOL;
  return {
    readEntries: isMemoryState ? all.filter((key) => !hasTimeToLive(key)).length + restored : all.length,
    writeEntries: footprint.readWrite.length,
    footprintEntries: all.length,
  };
}

export function areWithinLimits(resources: Resources, transactionBytes: number): boolean {
  return (
    resources.instructions <= LIMITS.instructions &&
    resources.readEntries <= LIMITS.readEntries &&
    resources.readBytes <= LIMITS.readBytes &&
    resources.writeBytes <= LIMITS.writeBytes &&
    resources.footprintEntries <= LIMITS.footprintEntries &&
    resources.writeEntries <= LIMITS.writeEntries &&
    transactionBytes <= LIMITS.transactionBytes
  );
}

/** Paid for what is declared, used or not. */
export function nonRefundableFee(resources: Resources, transactionBytes: number): bigint {
  return (
    perUnit(resources.instructions, FEES.perInstructionIncrement, INSTRUCTION_INCREMENT) +
    BigInt(resources.readEntries) * FEES.perReadEntry +
    BigInt(resources.writeEntries) * FEES.perWriteEntry +
    perUnit(resources.readBytes, FEES.perReadKilobyte, KILOBYTE) +
    perUnit(resources.writeBytes, FEES.perWriteKilobyte, KILOBYTE) +
    perUnit(transactionBytes + RESULT_BYTES, FEES.perHistoricalKilobyte, KILOBYTE) +
    perUnit(transactionBytes, FEES.perTransactionKilobyte, KILOBYTE)
  );
}

/** Paid for what is used: events, the return value, and the rent of what lives longer than before. */
export function refundableFee(eventBytes: number, rentedBytes: number): bigint {
  return (
    perUnit(eventBytes, FEES.perEventKilobyte, KILOBYTE) +
    perUnit(rentedBytes, FEES.perRentedKilobyte, KILOBYTE)
  );
}

function perUnit(amount: number, fee: bigint, unit: bigint): bigint {
  return (BigInt(amount) * fee + unit - 1n) / unit;
}
