/**
 * Estimates the calls that may land before a given call: how many can be under way, and the data that each
 * adds.
 */
import type { xdr } from '@stellar/stellar-sdk';
import { singleFlightByKey } from '../../../lib/singleFlight.ts';
import type { Address } from '../port.ts';
import { retirementKeys } from './addresses.ts';
import { nullIfUnavailable } from './fees.ts';
import { simulatedIndex } from './headroom.ts';
import type { EarlierCalls } from './headroom.ts';
import { DEPLOYS } from './calls.ts';
import type { Invocation } from './calls.ts';
import { MAX_ENTRIES_PER_ASK } from './node.ts';
import type { StellarNode } from './node.ts';

/**
 * Each other source may land two calls before this one: one that was under way when this call was simulated,
 * and the next one, if this call lands a ledger late. Holders, whose number is unknown, may have calls too.
 */
const OTHERS_PER_SOURCE = 2;
const OTHERS_TO_SPARE = 4;
const MIN_OTHERS = 8;
/** Bytes of a retirement's record: without its texts, and with the longest texts accepted. */
const BARE_RECORD_BYTES = 284;
const LONGEST_RECORD_BYTES = 1_600;
/** An entry also contains its last ledger and an extension. */
const ENTRY_BYTES_BESIDE_DATA = 8;
/**
 * Both texts may be some characters longer, for example if a number gains a digit. Texts are encoded in units
 * of four bytes.
 */
const BYTES_OF_LONGER_TEXTS = 8;
/** The index of the texts among a retirement's arguments. */
const TEXTS_PLACE = 2;

/** @param sources the number of signing accounts, which is the maximum of calls under way */
export async function estimateEarlierCalls(
  largestRecord: LargestRecord,
  { functionName, contract, args }: Invocation,
  simulated: xdr.SorobanResources,
  sources: number,
): Promise<EarlierCalls | null> {
  const ownCount = Math.max(0, (sources - 1) * OTHERS_PER_SOURCE);
  const holderCount = Math.max(MIN_OTHERS - ownCount, OTHERS_TO_SPARE);
  const count = ownCount + holderCount;
  if (DEPLOYS.has(functionName)) return { kind: 'deploys', count };
  if (functionName !== 'retire') return null;
  const textBytes = args.slice(TEXTS_PLACE).reduce((sum, text) => sum + text.toXDR().length, 0);
  const index = simulatedIndex(simulated, contract);
  const latest = index === null ? 0 : await largestRecord(contract, index, count);
  return {
    kind: 'retirements',
    token: contract,
    sources,
    ownCount,
    holderCount,
    recordBytes:
      BYTES_OF_LONGER_TEXTS +
      // Any holder may write a longer record. Headroom for many long records would leave none for the number
      // of records.
      Math.max(BARE_RECORD_BYTES + textBytes, Math.min(LONGEST_RECORD_BYTES, latest)),
  };
}

/** The bytes of the largest of the token's `count` records before `index`; 0 if the node shows none. */
export type LargestRecord = (token: Address, index: number, count: number) => Promise<number>;

/**
 * Records of calls that land first are assumed to be as large as this call's, or as the latest ones: usually
 * they have the same sender. If a call died because of larger records, these are the latest when it is signed
 * again. Concurrent drafts ask for the same records, so they share the read.
 */
export function createLargestRecord(node: StellarNode): LargestRecord {
  const share = singleFlightByKey<number>();
  return async (token, index, count) => {
    const length = Math.min(count, index, MAX_ENTRIES_PER_ASK);
    if (length === 0) return 0;
    const keys = () => retirementKeys(token, index - length, length);
    return share(`${token} ${index} ${length}`, () => readLargest(node, keys()));
  };
}

async function readLargest(node: StellarNode, keys: readonly xdr.LedgerKey[]): Promise<number> {
  const found = await node.entries(keys).catch(nullIfUnavailable);
  const sizes = [...(found?.byKey.values() ?? [])].map((data) => data.toXDR().length);
  return sizes.length === 0 ? 0 : Math.max(...sizes) + ENTRY_BYTES_BESIDE_DATA;
}
