/**
 * ledgerNetwork: which network this platform works on, and where it stands.
 */
import type { Dependencies } from './dependencies.ts';

/** @throws NetworkUnavailable */
export async function readLedgerNetwork(
  deps: Pick<Dependencies, 'network' | 'treasuryAddress' | 'clockControl'>,
) {
  const { network, treasuryAddress, clockControl } = deps;
  const [status, settlement] = await Promise.all([network.status(), network.settlementContract()]);
  return {
    name: network.name,
    networkId: network.networkId,
    custodyAddress: network.custodyAddress,
    treasuryAddress,
    settlementAddress: settlement?.address ?? null,
    clockCanBeMoved: clockControl !== null,
    ...status,
  };
}

export type LedgerNetworkFacts = Awaited<ReturnType<typeof readLedgerNetwork>>;
