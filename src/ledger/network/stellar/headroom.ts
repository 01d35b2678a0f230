/**
 * Room for what lands between a call's simulation and its own landing.
 *
 * A transaction declares what it will touch and use, from a simulation on the state of that moment, and fails when it
 * lands on a state that needs more. So a little more is declared: instructions and bytes for entries that
 * grew, and for a retirement the places of those that land before it. A retirement is written under its
 * index, which is known only on landing: simulated on one state, all retirements of a token name the same
 * index, and all but the first to land would write outside of their footprints.
 *
 * What is declared is paid for; what is offered beyond that is given back.
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

/** How many further retirements of which token may land first. */
export interface SpareRetirements {
  token: Address;
  count: number;
}

export function withHeadroom(
  resources: Resources,
  settings: ResourceSettings,
  spare: SpareRetirements | null,
): Resources {
  const data = xdr.SorobanTransactionData.fromXDR(resources.data.toXDR());
  const declared = data.resources();
  const footprint = declared.footprint();
  const keys = spare ? furtherKeys(footprint, settings, spare) : [];
  // At the end: archived entries are named by their places in this list.
  footprint.readWrite([...footprint.readWrite(), ...keys]);

  const instructions = declared.instructions();
  const moreInstructions = Math.min(
    Math.ceil((instructions * SPARE_INSTRUCTIONS_PERCENT) / 100) + keys.length * INSTRUCTIONS_PER_SPARE_KEY,
    Math.max(0, settings.maxInstructions - instructions),
  );
  declared.instructions(instructions + moreInstructions);
  const moreWritten = spareBytes(declared.writeBytes(), settings.maxWriteBytes);
  declared.writeBytes(declared.writeBytes() + moreWritten);
  const moreRead = spareBytes(declared.diskReadBytes(), settings.maxReadBytes);
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
function spareBytes(declared: number, max: number): number {
  return declared === 0 ? 0 : Math.min(SPARE_BYTES, Math.max(0, max - declared));
}

/** The places after the one that the simulation wrote to, as far as the network's limits go. */
function furtherKeys(
  footprint: xdr.LedgerFootprint,
  settings: ResourceSettings,
  { token, count }: SpareRetirements,
): xdr.LedgerKey[] {
  const named = footprint.readWrite();
  const index = named.map((key) => retirementIndexIn(key, token)).find((found) => found !== null);
  if (index === undefined || index === null) return [];
  const room = Math.min(
    settings.maxWriteEntries - named.length,
    settings.maxFootprintEntries - named.length - footprint.readOnly().length,
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
