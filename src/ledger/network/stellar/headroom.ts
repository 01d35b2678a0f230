/**
 * Room for what lands between a call's simulation and its own landing.
 *
 * A transaction declares what it will touch and use, from a simulation on the state of that moment, and fails when it
 * lands on a state that needs more. So a little more is declared: instructions and bytes for entries that
 * grew, and for a retirement the places of those that land before it. A retirement is written under its
 * index, which is known only on landing: simulated on one state, all retirements of a token name the same
 * index, and all but the first to land would write outside of their footprints.
 *
 * The network counts every entry that is named for writing and exists, touched or not: a place that somebody else's
 * retirement has filled costs the whole of that record, so each place comes with the bytes of one.
 *
 * What is declared is paid for, and takes room in the ledger from others; what is offered beyond that is given back.
 */
import { xdr } from '@stellar/stellar-sdk';
import type { Address } from '../port.ts';
import { retirementKey, retirementKeys } from './addresses.ts';
import type { ResourceSettings } from './fees.ts';
import type { Resources } from './nodeDecoding.ts';

const BYTES_PER_KILOBYTE = 1024n;
const INSTRUCTIONS_PER_INCREMENT = 10_000n;
/** An instance that gains a setting grows by less. */
const SPARE_BYTES = 1_024;
const SPARE_INSTRUCTIONS_PERCENT = 10;
/** For the host to take in one more key of the footprint, generously. */
const INSTRUCTIONS_PER_SPARE_KEY = 20_000;

/**
 * For all places together, at the least. Twenty transactions with so much each fit into one ledger of the public
 * network (286,720 written bytes): for 24 places it is what records with short texts take, for 7 what our longest do.
 */
const MIN_BYTES_OF_PLACES = 11_264;

/** How many further retirements of which token may land first, and how large the record of one is. */
export interface SpareRetirements {
  token: Address;
  count: number;
  recordBytes: number;
}

export function withHeadroom(
  resources: Resources,
  settings: ResourceSettings,
  spare: SpareRetirements | null,
): Resources {
  const data = xdr.SorobanTransactionData.fromXDR(resources.data.toXDR());
  const declared = data.resources();
  const footprint = declared.footprint();
  const keys = spare ? furtherKeys(declared, settings, spare) : [];
  // At the end: archived entries are named by their places in this list.
  footprint.readWrite([...footprint.readWrite(), ...keys]);

  const instructions = declared.instructions();
  const moreInstructions = Math.min(
    Math.ceil((instructions * SPARE_INSTRUCTIONS_PERCENT) / 100) + keys.length * INSTRUCTIONS_PER_SPARE_KEY,
    Math.max(0, settings.maxInstructions - instructions),
  );
  declared.instructions(instructions + moreInstructions);
  const filled =
    keys.length === 0 ? 0 : Math.max(keys.length * (spare?.recordBytes ?? 0), MIN_BYTES_OF_PLACES);
  const moreWritten = spareBytes(declared.writeBytes(), settings.maxWriteBytes, filled);
  declared.writeBytes(declared.writeBytes() + moreWritten);
  const filledOnDisk = settings.isContractDataOnDisk ? filled : 0;
  const moreRead = spareBytes(declared.diskReadBytes(), settings.maxReadBytes, filledOnDisk);
  declared.diskReadBytes(declared.diskReadBytes() + moreRead);

  const feeStroops =
    resources.feeStroops +
    perUnit(BigInt(moreInstructions), settings.feePerInstructionIncrement, INSTRUCTIONS_PER_INCREMENT) +
    perUnit(BigInt(moreWritten), settings.feePerWriteKilobyte, BYTES_PER_KILOBYTE) +
    perUnit(BigInt(moreRead), settings.feePerReadKilobyte, BYTES_PER_KILOBYTE) +
    feeOfKeys(keys, settings);
  data.resourceFee(xdr.Int64.fromString(String(feeStroops)));
  return { data, feeStroops };
}

/** Nothing for a call that reads or writes none: it won't begin to. */
function spareBytes(declared: number, max: number, filled: number): number {
  return declared === 0 ? 0 : Math.min(SPARE_BYTES + filled, Math.max(0, max - declared));
}

/** The places after the one that the simulation wrote to, as far as the network's limits go. */
function furtherKeys(
  declared: xdr.SorobanResources,
  settings: ResourceSettings,
  { token, count, recordBytes }: SpareRetirements,
): xdr.LedgerKey[] {
  const footprint = declared.footprint();
  const named = footprint.readWrite();
  const index = named.map((key) => retirementIndexIn(key, token)).find((found) => found !== null);
  if (index === undefined || index === null) return [];
  const room = Math.min(
    settings.maxWriteEntries - named.length,
    settings.maxFootprintEntries - named.length - footprint.readOnly().length,
    Math.floor((settings.maxWriteBytes - SPARE_BYTES - declared.writeBytes()) / recordBytes),
  );
  const length = Math.max(0, Math.min(count, room));
  return retirementKeys(token, index + 1, length);
}

function feeOfKeys(keys: readonly xdr.LedgerKey[], settings: ResourceSettings): bigint {
  const bytes = BigInt(keys.reduce((sum, key) => sum + key.toXDR().length, 0));
  const perEntry = settings.feePerWriteEntry + settings.feePerReadEntry;
  return (
    BigInt(keys.length) * perEntry + perUnit(bytes, settings.feePerTransactionKilobyte, BYTES_PER_KILOBYTE)
  );
}

/** Begun units are paid for. */
function perUnit(amount: bigint, fee: bigint, unit: bigint): bigint {
  return (amount * fee + unit - 1n) / unit;
}

function retirementIndexIn(key: xdr.LedgerKey, token: Address): number | null {
  if (key.switch().name !== 'contractData') return null;
  const parts = key.contractData().key();
  const index = parts.switch().name === 'scvVec' ? parts.vec()?.[1] : undefined;
  if (index?.switch().name !== 'scvU32') return null;
  const ours = retirementKey(token, index.u32());
  return key.toXDR('base64') === ours.toXDR('base64') ? index.u32() : null;
}
