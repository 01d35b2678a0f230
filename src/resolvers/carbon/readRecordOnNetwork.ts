/**
 * Reads one retirement record from its token, now: to compare with what this platform keeps of it.
 */
import type { RetirementRecord } from '../../ledger/network/port.ts';
import type { Needs } from '../core/dependencies.ts';

/** Null when the token has no such record. @throws NetworkUnavailable */
export async function readRecordOnNetwork(
  { network }: Needs<'network'>,
  tokenAddress: string,
  index: number,
): Promise<RetirementRecord | null> {
  const { records } = await network.retirementRecords(tokenAddress, index, 1);
  return records.find((record) => record.index === index) ?? null;
}
