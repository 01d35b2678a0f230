/**
 * Headroom for transactions that land between a call's simulation and its own landing.
 *
 * A transaction declares the entries and resources that its simulation used, and fails if the state at
 * landing needs more. Each transaction therefore declares more: instructions and bytes for entries that grew,
 * and for a retirement the records of retirements that land before it. A retirement record is written under
 * its index, which is known only on landing. Simulated on one state, all retirements of a token name the same
 * index, and all but the first to land would write outside their footprints.
 *
 * The network loads every entry that is declared for writing, used or not. A record that an earlier
 * retirement has written costs its instructions and bytes, so each declared record adds those of one.
 *
 * Declared resources are charged and take room in the ledger; a bid beyond that is refunded.
 */
import { xdr } from '@stellar/stellar-sdk';
import { shareUp } from '../../../lib/decimals.ts';
import type { Address } from '../port.ts';
import { retirementIndexOf, retirementKeys } from './addresses.ts';
import type { ResourceSettings } from './fees.ts';
import type { Resources } from './nodeAnswers.ts';

const BYTES_PER_KILOBYTE = 1024n;
const INSTRUCTIONS_PER_INCREMENT = 10_000n;
/** Spare bytes for an instance that gains a setting. */
const SPARE_BYTES = 1_024;
const SPARE_INSTRUCTIONS_PERCENT = 10;

/**
 * Instructions of the host to load one more key of the footprint. Measured: 28,000 for a missing record, and
 * up to 54,000 plus 36 per byte for a written one.
 */
const INSTRUCTIONS_PER_PLACE = 60_000;
const INSTRUCTIONS_PER_RECORD_BYTE = 40;
/** Instructions of the factory to load and store the entry that one earlier deploy added. Measured: 2,300. */
const INSTRUCTIONS_PER_DEPLOY = 4_000;
/** An address of 40 bytes in each of two lists. */
const BYTES_PER_DEPLOY = 80;

/**
 * Minimum bytes for all declared records together: with few channels, some records may have another size. It
 * is about the share of each of 22 transactions in the 286,720 bytes that a ledger of the public network may
 * write. A transaction never declares more than its share.
 */
const MIN_BYTES_OF_PLACES = 11_264;

/** How many other calls of the same kind may land first, and the data that each adds. */
export type EarlierCalls = { kind: 'deploys'; count: number } | EarlierRetirements;

interface EarlierRetirements {
  kind: 'retirements';
  token: Address;
  /** The number of the platform's signing accounts, which is the maximum of its retirements under way. */
  sources: number;
  /** The platform's own retirements that may land first. */
  ownCount: number;
  /** Holders' retirements that may land first. */
  holderCount: number;
  /** The bytes of one record as written. */
  recordBytes: number;
}

interface Room {
  keys: xdr.LedgerKey[];
  instructions: number;
  writtenBytes: number;
}

const NO_ROOM: Room = { keys: [], instructions: 0, writtenBytes: 0 };

export function withHeadroom(
  resources: Resources,
  settings: ResourceSettings,
  earlier: EarlierCalls | null,
): Resources {
  const data = xdr.SorobanTransactionData.fromXDR(resources.data.toXDR());
  const declared = data.resources();
  const footprint = declared.footprint();
  const room = roomFor(earlier, declared, settings);
  // The keys are appended, because archived entries are named by their index in this list.
  footprint.readWrite([...footprint.readWrite(), ...room.keys]);

  const instructions = declared.instructions();
  const moreInstructions = Math.min(
    spareInstructions(instructions) + room.instructions,
    Math.max(0, settings.maxInstructions - instructions),
  );
  declared.instructions(instructions + moreInstructions);
  const moreWritten = spareBytes(declared.writeBytes(), settings.maxWriteBytes, room.writtenBytes);
  declared.writeBytes(declared.writeBytes() + moreWritten);
  const moreRead = spareBytes(declared.diskReadBytes(), settings.maxReadBytes);
  declared.diskReadBytes(declared.diskReadBytes() + moreRead);

  // The network charges a unit once it is begun.
  const feeStroops =
    resources.feeStroops +
    shareUp(BigInt(moreInstructions), settings.feePerInstructionIncrement, INSTRUCTIONS_PER_INCREMENT) +
    shareUp(BigInt(moreWritten), settings.feePerWriteKilobyte, BYTES_PER_KILOBYTE) +
    shareUp(BigInt(moreRead), settings.feePerReadKilobyte, BYTES_PER_KILOBYTE) +
    feeOfKeys(room.keys, settings);
  data.resourceFee(xdr.Int64.fromString(String(feeStroops)));
  return { ...resources, data, feeStroops };
}

/** The index of the record that the simulated retirement wrote; null for the resources of another call. */
export function simulatedIndex(resources: xdr.SorobanResources, token: Address): number | null {
  const named = resources.footprint().readWrite();
  return (
    named
      .filter((key) => key.switch().name === 'contractData')
      .map((key) => retirementIndexOf(key.contractData(), token))
      .find((index) => index !== null) ?? null
  );
}

function spareInstructions(instructions: number): number {
  return Math.ceil((instructions * SPARE_INSTRUCTIONS_PERCENT) / 100);
}

/** Zero if the call reads or writes nothing, because that does not change. */
function spareBytes(declared: number, max: number, room = 0): number {
  return declared === 0 ? 0 : Math.min(Math.max(SPARE_BYTES, room), Math.max(0, max - declared));
}

function roomFor(
  earlier: EarlierCalls | null,
  declared: xdr.SorobanResources,
  settings: ResourceSettings,
): Room {
  if (earlier === null) return NO_ROOM;
  if (earlier.kind === 'deploys') {
    const { count } = earlier;
    return {
      keys: [],
      instructions: count * INSTRUCTIONS_PER_DEPLOY,
      writtenBytes: count * BYTES_PER_DEPLOY,
    };
  }
  const share = shareOfLedger(earlier, declared, settings);
  const ownCount = ownCountWithin(share, earlier);
  const keys = furtherKeys(declared, settings, earlier, ownCount + earlier.holderCount);
  if (keys.length === 0) return NO_ROOM;
  // Holders' records use the bytes that the platform's own records leave, which is most of them unless all of
  // those land before this one.
  const records = Math.min(keys.length, ownCount);
  const leastBytes = Math.min(MIN_BYTES_OF_PLACES, share.bytes);
  const writtenBytes = Math.max(records * earlier.recordBytes, leastBytes);
  return {
    keys,
    instructions: keys.length * INSTRUCTIONS_PER_PLACE + writtenBytes * INSTRUCTIONS_PER_RECORD_BYTE,
    writtenBytes,
  };
}

/**
 * Each source's share of a ledger for other retirements' records, so that one ledger has room for all
 * sources.
 */
interface Share {
  bytes: number;
  ownCount: number;
}

function shareOfLedger(
  { sources, holderCount, recordBytes }: EarlierRetirements,
  declared: xdr.SorobanResources,
  { ledgerMaxWriteBytes, ledgerMaxWriteEntries }: ResourceSettings,
): Share {
  const named = declared.footprint().readWrite().length;
  const bytes = Math.floor(ledgerMaxWriteBytes / sources) - declared.writeBytes();
  const entries = Math.floor(ledgerMaxWriteEntries / sources) - named;
  return { bytes, ownCount: Math.min(Math.floor(bytes / recordBytes), entries - holderCount) };
}

/**
 * The share's count, if it is at least one for each other source. A retirement that lands in its own ledger
 * then has all the places that it needs, and one that lands a ledger late has most of them. Otherwise one
 * ledger has no room for all sources anyway, and each declares all places.
 */
function ownCountWithin(share: Share, { sources, ownCount }: EarlierRetirements): number {
  return share.ownCount < sources - 1 ? ownCount : Math.min(ownCount, share.ownCount);
}

/** The record keys after the one that the simulation wrote, up to the network's limits. */
function furtherKeys(
  declared: xdr.SorobanResources,
  settings: ResourceSettings,
  { token, recordBytes }: EarlierRetirements,
  count: number,
): xdr.LedgerKey[] {
  const index = simulatedIndex(declared, token);
  if (index === null) return [];
  const footprint = declared.footprint();
  const named = footprint.readWrite();
  const instructions = declared.instructions() + spareInstructions(declared.instructions());
  const instructionsPerPlace = INSTRUCTIONS_PER_PLACE + recordBytes * INSTRUCTIONS_PER_RECORD_BYTE;
  const room = Math.min(
    settings.maxWriteEntries - named.length,
    settings.maxFootprintEntries - named.length - footprint.readOnly().length,
    (settings.maxWriteBytes - SPARE_BYTES - declared.writeBytes()) / recordBytes,
    (settings.maxInstructions - instructions) / instructionsPerPlace,
  );
  const length = Math.max(0, Math.min(count, Math.floor(room)));
  return retirementKeys(token, index + 1, length);
}

function feeOfKeys(keys: readonly xdr.LedgerKey[], settings: ResourceSettings): bigint {
  const bytes = BigInt(keys.reduce((sum, key) => sum + key.toXDR().length, 0));
  return (
    BigInt(keys.length) * settings.feePerWriteEntry +
    shareUp(bytes, settings.feePerTransactionKilobyte, BYTES_PER_KILOBYTE)
  );
}
