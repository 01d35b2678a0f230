/**
 * Reads one retirement record from its token, now: to compare with what this platform keeps of it.
 */
import type { RetirementRecord } from '../../ledger/network/port.ts';
import { createConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import type { Needs } from '../core/dependencies.ts';

/**
 * Open to the public, so its requests are limited: the node stays free for the platform's own. A page of a hundred
 * records waits its turn.
 */
const READS = { maxConcurrent: 4, maxWaiting: 400, waitMs: 10_000 };
const reads = createConcurrencyLimit(READS);

/** Null when the token has no such record. @throws NetworkUnavailable; DomainError OVERLOADED */
export async function readRecordOnNetwork(
  { network }: Needs<'network'>,
  tokenAddress: string,
  index: number,
): Promise<RetirementRecord | null> {
  const giveBack = await reads.take();
  const { records } = await network.retirementRecords(tokenAddress, index, 1).finally(giveBack);
  return records.find((record) => record.index === index) ?? null;
}
