/**
 * Estimates what may land before a call does: how many other calls can be under way, and what each leaves behind.
 */
import type { xdr } from '@stellar/stellar-sdk';
import { shareRunsByKey } from '../../../lib/sharedRuns.ts';
import type { Address } from '../port.ts';
import { retirementKeys } from './addresses.ts';
import { notShown } from './fees.ts';
import { simulatedIndex } from './headroom.ts';
import type { Others } from './headroom.ts';
import { DEPLOYS } from './calls.ts';
import type { Invocation } from './calls.ts';
import { MAX_ENTRIES_PER_ASK } from './node.ts';
import type { StellarNode } from './node.ts';

/**
 * Each other source may have two ahead of this call: one that was under way when it was simulated, and the next one, when this
 * call lands a ledger late. Holders, whose number is unknown, may have some too.
 */
const OTHERS_PER_SOURCE = 2;
const OTHERS_TO_SPARE = 4;
const MIN_OTHERS = 8;
/** Bytes of a retirement's record: without its texts, and with the longest texts accepted. */
const BARE_RECORD_BYTES = 284;
const LONGEST_RECORD_BYTES = 1_600;
/** An entry also holds its last ledger and an extension. */
const ENTRY_BYTES_BESIDE_DATA = 8;
/** Both texts may be longer by some characters, as a number is that gains a digit. Texts are written in units of four bytes. */
const BYTES_OF_LONGER_TEXTS = 8;
/** The index of the texts among a retirement's arguments. */
const TEXTS_PLACE = 2;

/** @param sources the number of signing accounts: at most so many calls are under way */
export async function othersBefore(
  largestRecord: LargestRecord,
  { functionName, contract, args }: Invocation,
  simulated: xdr.SorobanResources,
  sources: number,
): Promise<Others | null> {
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
      // Any holder may write a longer record; headroom for many of those would leave none for the number of records.
      Math.max(BARE_RECORD_BYTES + textBytes, Math.min(LONGEST_RECORD_BYTES, latest)),
  };
}

/** The bytes of the largest of the token's latest `count` records, before `index`; 0 when the node shows none. */
export type LargestRecord = (token: Address, index: number, count: number) => Promise<number>;

/**
 * Calls that land first are taken to be as large as this one, or as the latest that landed: usually they have the same
 * sender. When a call died because of larger ones, these are the latest when it is signed again. Calls that are drafted at the same time
 * ask for the same records.
 */
export function createLargestRecord(node: StellarNode): LargestRecord {
  const share = shareRunsByKey<number>();
  return async (token, index, count) => {
    const length = Math.min(count, index, MAX_ENTRIES_PER_ASK);
    if (length === 0) return 0;
    const keys = () => retirementKeys(token, index - length, length);
    return share(`${token} ${index} ${length}`, () => readLargest(node, keys()));
  };
}

async function readLargest(node: StellarNode, keys: readonly xdr.LedgerKey[]): Promise<number> {
  const found = await node.entries(keys).catch(notShown);
  const sizes = [...(found?.byKey.values() ?? [])].map((data) => data.toXDR().length);
  return sizes.length === 0 ? 0 : Math.max(...sizes) + ENTRY_BYTES_BESIDE_DATA;
}
