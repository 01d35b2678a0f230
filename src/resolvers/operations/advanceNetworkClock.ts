/**
 * advanceNetworkClock: moves a development network's time ahead, so that the expiry of receipts can be
 * tested. Real networks keep their own time.
 */
import { DomainError } from '../../lib/errors.ts';
import type { UnixSeconds } from '../../ledger/network/port.ts';
import type { Needs } from '../core/dependencies.ts';

/** Ten years: beyond every date that the product computes. */
export const MAX_ADVANCE_SECONDS = 10 * 366 * 24 * 3600;

/**
 * @returns the close time of the ledger that the network closed at the new time.
 * @throws DomainError CONFLICT on a network that keeps its own time, and in production.
 */
export async function advanceNetworkClock(
  deps: Needs<'network' | 'clockControl'>,
  seconds: number,
): Promise<UnixSeconds> {
  if (!deps.clockControl) {
    throw new DomainError(
      'CONFLICT',
      `The time of network ${deps.network.name} can't be moved here: only that of a development network can, outside of production.`,
    );
  }
  return deps.clockControl.advanceClock(seconds);
}
