/**
 * Reads one retirement record from its token, now: to compare with what this platform keeps of it.
 */
import type { RetirementRecord } from '../../ledger/network/port.ts';
import { createConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import type { Needs } from '../core/dependencies.ts';

/**
 * Open to the public, so its requests are limited: the node stays free for the platform's own. A page of a hundred
 * records waits its turn, and the certificates that others look at meanwhile do not wait for all of it.
 */
const READS = { maxConcurrent: 4, maxPerKey: 3, maxWaiting: 400, waitMs: 10_000 };
const reads = createConcurrencyLimit(READS);

/**
 * Null when the token has no such record.
 * @param addressKey who asks, where places are given in turns
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
