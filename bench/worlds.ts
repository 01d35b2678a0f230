/**
 * The networks of the benchmarks, in separate processes, with ledgers that close at an interval like real
 * ones.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startEvmWorld } from '../devnet/evm/evmWorld.ts';
import type { NetworkWorld } from '../devnet/world.ts';
import type { StellarLedger } from '../src/ledger/network/stellar/settings.ts';
import { BLOCK_SECONDS } from './pace.ts';

export type BenchWorld = 'evm' | 'stellar';

type World = Pick<NetworkWorld, 'ledger' | 'close'>;

export function startBenchWorld(name: BenchWorld): Promise<World> {
  switch (name) {
    case 'evm':
      return startEvmWorld({ mining: { everySeconds: BLOCK_SECONDS } });
    case 'stellar':
      return startStellarDevnet();
  }
}

async function startStellarDevnet(): Promise<World> {
  const program = fileURLToPath(new URL('stellarDevnet.ts', import.meta.url));
  const child = fork(program, { execArgv: ['--import', 'tsx'] });
  const ended = once(child, 'exit');
  const failed = ended.then(([code]) => {
    throw new Error(`the Stellar devnet ended with ${code}`);
  });
  const [ledger] = (await Promise.race([once(child, 'message'), failed])) as [StellarLedger];
  failed.catch(() => {});
  return {
    ledger,
    async close() {
      child.disconnect();
      await ended;
    },
  };
}
