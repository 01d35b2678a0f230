/**
 * The networks that benchmarks run on, with ledgers that close at an interval like real ones.
 */
import { startEvmWorld } from '../devnet/evm/evmWorld.ts';
import { startStellarWorld } from '../devnet/stellar/stellarWorld.ts';
import type { NetworkWorld } from '../devnet/world.ts';

const WORLDS = ['evm', 'stellar'] as const;
export type BenchWorld = (typeof WORLDS)[number];

export function startBenchWorld(
  name: BenchWorld,
  options: { blockSeconds: number; channels: number },
): Promise<NetworkWorld> {
  switch (name) {
    case 'evm':
      return startEvmWorld({ mining: { everySeconds: options.blockSeconds } });
    case 'stellar':
      return startStellarWorld({
        channels: options.channels,
        devnet: {
          closeEveryMs: options.blockSeconds * 1000,
          closeSeconds: Math.ceil(options.blockSeconds),
        },
      });
  }
}
