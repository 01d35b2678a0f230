/**
 * The facts of a server that a page is tested with, without a server.
 */
import { systemClock } from '../../src/lib/clock.ts';
import type { Site } from '../../src/pages/site.ts';

export function pageSite(networkId = 'x', name = 'mainnet'): Site {
  return {
    publicUrl: 'https://api.example',
    network: { name, networkId },
    recordCommands: null,
    checkInclusion: () => null,
    clock: systemClock,
  };
}
