/**
 * Reads a deposit from the settlement contract in use, which is the sessions' own contract in nearly all tests.
 */
import type { LedgerNetwork, OffRampDeposit } from '../../src/ledger/network/port.ts';

export async function depositInUse(
  network: Pick<LedgerNetwork, 'settlementContract' | 'offRampDeposit'>,
  sessionId: string | null | undefined,
): Promise<OffRampDeposit | null> {
  const settlement = await network.settlementContract();
  return settlement && network.offRampDeposit(settlement.address, sessionId ?? '');
}
