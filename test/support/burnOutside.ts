/**
 * A burn by custody's own key that the platform does not know: a retirement alike goes to review.
 */
import { expect } from 'vitest';
import type { LedgerNetwork, PreparedTransaction } from '../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';

export async function burnOutside(
  network: LedgerNetwork,
  { tokenAddress }: { tokenAddress: string },
  tonnes: bigint,
): Promise<PreparedTransaction> {
  const amount = toBaseUnits(tonnes);
  const call = { kind: 'retire', tokenAddress, amount, beneficiary: 'Acme Ltd', note: 'flights' } as const;
  const prepared = await (await network.draft(call)).sign(null);
  await network.broadcast(prepared.signedBytes);
  await expect.poll(async () => (await network.outcome(prepared)).status).toBe('succeeded');
  return prepared;
}
