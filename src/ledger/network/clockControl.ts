/**
 * What networks for development offer beside the port: their time can be moved. Real ones keep their own.
 */
import type { UnixSeconds } from './port.ts';

export interface ClockControl {
  /** Moves the network's time ahead, for everybody and for good. Returns the new latest ledger's close time. */
  advanceClock(seconds: number): Promise<UnixSeconds>;
}
