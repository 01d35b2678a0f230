/**
 * Controls of development networks beside the port: their time can be moved. Real networks have none.
 */
import type { UnixSeconds } from './port.ts';

export interface ClockControl {
  /** Moves the network's time ahead for all instances, irreversibly. @returns the new latest ledger's close time */
  advanceClock(seconds: number): Promise<UnixSeconds>;
}
