/**
 * Transactions of custody's key that the platform does not know, as those of another copy of its database.
 */
import { expect } from 'vitest';
import type { LedgerNetwork, NetworkCall, PreparedTransaction } from '../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';

/** Afterwards, an equal retirement goes to review. */
export async function burnOutside(
  network: LedgerNetwork,
  { tokenAddress }: { tokenAddress: string },
  tonnes: bigint,
): Promise<PreparedTransaction> {
  const amount = toBaseUnits(tonnes);
  const call = { kind: 'retire', tokenAddress, amount, beneficiary: 'Acme Ltd', note: 'flights' } as const;
  return landOutside(network, call);
}

export async function landOutside(network: LedgerNetwork, call: NetworkCall): Promise<PreparedTransaction> {
  const prepared = await (await network.draft(call)).sign(null);
  await network.broadcast(prepared.signedBytes);
  await expect.poll(async () => (await network.outcome(prepared)).status).toBe('succeeded');
  return prepared;
}
