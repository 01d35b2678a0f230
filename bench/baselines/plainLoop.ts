/**
 * The baseline loop: retires, waits for the network's decision, and then begins the next retirement. It has
 * no books, no records and no crash safety.
 */
import { land, mintedCarbon, retire, TONNE } from '../../devnet/calls.ts';
import type { LedgerNetwork } from '../../src/ledger/network/port.ts';

/** @returns writes per second */
export async function runPlainLoop(network: LedgerNetwork, count: number): Promise<number> {
  const tokenAddress = await mintedCarbon(network, BigInt(count));
  const startedMs = performance.now();
  for (let number = 0; number < count; number++) {
    await land(network, retire(tokenAddress, TONNE, `#${number}`));
  }
  return count / ((performance.now() - startedMs) / 1000);
}
