/**
 * ledgerNetwork: the network of this platform, and its status.
 */
import { readHalt } from '../../ledger/submission/halts.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import { shareFreshRuns } from '../../lib/sharedRuns.ts';
import type { Needs } from '../core/dependencies.ts';

type LedgerNetworkNeeds = Needs<'db' | 'network' | 'clockControl'>;

const runs = new WeakMap<LedgerNetwork, () => Promise<LedgerNetworkFacts>>();

/**
 * The public may ask, also fifty times in one operation, and each reading takes requests to the node, which the platform's own
 * writes need: all who ask at a time share one.
 * @throws NetworkUnavailable
 */
export function readLedgerNetwork(deps: LedgerNetworkNeeds): Promise<LedgerNetworkFacts> {
  const run = runs.get(deps.network) ?? shareFreshRuns(() => read(deps));
  runs.set(deps.network, run);
  return run();
}

async function read(deps: LedgerNetworkNeeds) {
  const { network, clockControl } = deps;
  const [status, settlement, signingHaltedBecause] = await Promise.all([
    network.status(),
    network.settlementContract(),
    readHalt(deps.db),
  ]);
  return {
    name: network.name,
    networkId: network.networkId,
    custodyAddress: network.custodyAddress,
    settlementAddress: settlement?.address ?? null,
    clockCanBeMoved: clockControl !== null,
    signingHaltedBecause,
    ...status,
  };
}

export type LedgerNetworkFacts = Awaited<ReturnType<typeof read>>;
