/**
 * Reads one retirement record from its token now, to compare it with the platform's copy.
 */
import type { RetirementRecord } from '../../ledger/network/port.ts';
import { createConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import type { Needs } from '../core/dependencies.ts';

/**
 * Limits for reads that the public may request, so that the node stays free for the platform's own calls. A
 * page of a hundred records waits for its places in turn, so that other clients' certificates do not wait for
 * the whole page.
 */
const READS = { maxConcurrent: 4, maxPerKey: 3, maxWaiting: 400, waitMs: 10_000 };
const reads = createConcurrencyLimit(READS);

/**
 * Returns null when the token has no such record.
 * @param addressKey the client's key, by which places are given in turn
 * @throws NetworkUnavailable; DomainError OVERLOADED
 */
export async function readRecordOnNetwork(
  { network }: Needs<'network'>,
  tokenAddress: string,
  index: number,
  addressKey: string,
): Promise<RetirementRecord | null> {
  const giveBack = await reads.take(addressKey);
  const { records } = await network.retirementRecords(tokenAddress, index, 1).finally(giveBack);
  return records.find((record) => record.index === index) ?? null;
}
