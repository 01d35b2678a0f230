/**
 * ledgerNetwork: the network of this platform, and its status.
 */
import { readHalt } from '../../ledger/submission/sequenceSlots.ts';
import type { Needs } from '../core/dependencies.ts';

/** @throws NetworkUnavailable */
export async function readLedgerNetwork(deps: Needs<'db' | 'network' | 'treasuryAddress' | 'clockControl'>) {
  const { network, treasuryAddress, clockControl } = deps;
  const [status, settlement, signingHaltedBecause] = await Promise.all([
    network.status(),
    network.settlementContract(),
    readHalt(deps.db),
  ]);
  return {
    name: network.name,
    networkId: network.networkId,
    custodyAddress: network.custodyAddress,
    treasuryAddress,
    settlementAddress: settlement?.address ?? null,
    clockCanBeMoved: clockControl !== null,
    signingHaltedBecause,
    ...status,
  };
}

export type LedgerNetworkFacts = Awaited<ReturnType<typeof readLedgerNetwork>>;
