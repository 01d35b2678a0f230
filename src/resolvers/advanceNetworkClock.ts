/**
 * advanceNetworkClock: moves a development network's time ahead, to see receipts expire without waiting half a
 * year. Real networks keep their own time.
 */
import { DomainError } from '../errors.ts';
import type { UnixSeconds } from '../ledger/network/port.ts';
import type { Dependencies } from './dependencies.ts';

/** Ten years: further than anything in the product looks ahead. */
export const MAX_ADVANCE_SECONDS = 10 * 366 * 24 * 3600;

/**
 * @returns the close time of the ledger that the network closed for it.
 * @throws DomainError CONFLICT on a network that keeps its own time.
 */
export async function advanceNetworkClock(
  deps: Pick<Dependencies, 'network' | 'clockControl'>,
  seconds: number,
): Promise<UnixSeconds> {
  if (!deps.clockControl) {
    throw new DomainError(
      'CONFLICT',
      `Network ${deps.network.name} keeps its own time; only a network for development can be moved.`,
    );
  }
  return deps.clockControl.advanceClock(seconds);
}
