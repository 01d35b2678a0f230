/**
 * Reads retirement records in pages: as ledger entries, up to 200 per answer, instead of one simulation each.
 *
 * Totals and records belong to one moment: the totals are of one ledger, and the records are read from that
 * ledger or a later one (node.ts refuses an older one). Records never change, so the counted records are the same
 * in both.
 */
import { xdr } from '@stellar/stellar-sdk';
import pLimit from 'p-limit';
import { NetworkUnavailable } from '../port.ts';
import { requireRecordRange } from '../port/readLimits.ts';
import type { Address, CarbonTotals, LedgerNetwork, RetirementPage, RetirementRecord } from '../port.ts';
import { retirementKeys } from './addresses.ts';
import type { ContractReads } from './contractReads.ts';
import { showError } from './hostErrors.ts';
import type { StellarNode } from './node.ts';
import { retirementOf } from './scvals.ts';

/** Maximum concurrent reads of records that are missing among the entries. */
const MAX_CONCURRENT_RECORDS = 16;

interface RecordDeps {
  node: StellarNode;
  reads: Pick<ContractReads, 'ask'>;
  carbonTotals: LedgerNetwork['carbonTotals'];
}

export async function readRecords(
  deps: RecordDeps,
  token: Address,
  fromIndex: number,
  limit: number,
): Promise<RetirementPage> {
  requireRecordRange(fromIndex, limit);
  const totals = await deps.carbonTotals(token);
  const indexes = indexesOf(totals, fromIndex, limit);
  if (indexes.length === 0) return { totals, records: [] };

  const keys = retirementKeys(token, fromIndex, indexes.length);
  const { byKey } = await deps.node.entries(keys);
  const limitConcurrency = pLimit(MAX_CONCURRENT_RECORDS);
  const records = await Promise.all(
    indexes.map(async (index, place) => {
      const entry = byKey.get(keys[place]?.toXDR('base64') ?? '');
      if (entry) return recordOf(index, entry.contractData().val());
      return limitConcurrency(() => readOne(deps, token, index));
    }),
  );
  return { totals, records };
}

function indexesOf({ totalRetirements }: CarbonTotals, fromIndex: number, limit: number): number[] {
  const count = Math.max(0, Math.min(limit, totalRetirements - fromIndex));
  return Array.from({ length: count }, (_, place) => fromIndex + place);
}

/**
 * Reads one record by simulation, which sees an archived record as if it were restored; the ledger's entries
 * may lack it. The totals count the record, so it exists: without an answer it is unknown, not missing.
 */
async function readOne(deps: RecordDeps, token: Address, index: number): Promise<RetirementRecord> {
  const answer = await deps.reads.ask(token, 'get_retirement', [xdr.ScVal.scvU32(index)]);
  if (answer.ok) return recordOf(index, answer.value);
  throw new NetworkUnavailable(
    `The retirement record ${index} of ${token} can't be read (${showError(answer.error)}): if it is archived, restore ` +
      'it (RestoreFootprint), or use a node that shows archived entries',
  );
}

function recordOf(index: number, value: xdr.ScVal): RetirementRecord {
  return { index, ...retirementOf(value) };
}
