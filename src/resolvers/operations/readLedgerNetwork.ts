/**
 * ledgerNetwork: the network of this platform, and its status.
 */
import { readHalt } from '../../ledger/submission/halts.ts';
import type { LedgerNetwork, NetworkStatus } from '../../ledger/network/port.ts';
import { freshSingleFlight } from '../../lib/singleFlight.ts';
import type { Needs } from '../core/dependencies.ts';
import { getOrMake } from '../../lib/getOrMake.ts';

type LedgerNetworkNeeds = Needs<'db' | 'network' | 'clockControl'>;

/** Facts that only the node knows. */
interface NodeFacts extends NetworkStatus {
  settlementAddress: string | null;
}

/** The configured facts are available even if neither the node nor the database answers. */
export interface LedgerNetworkFacts {
  name: string;
  networkId: string;
  custodyAddress: string;
  clockCanBeMoved: boolean;
  /** Returns the same facts each time, so that fields are consistent. @throws NetworkUnavailable */
  askNode: () => Promise<NodeFacts>;
  readHalt: () => Promise<string | null>;
}

type SharedReadings = Pick<LedgerNetworkFacts, 'askNode' | 'readHalt'>;

const shared = new WeakMap<LedgerNetwork, SharedReadings>();

export function readLedgerNetwork(deps: LedgerNetworkNeeds): LedgerNetworkFacts {
  const { network, clockControl } = deps;
  const readings = readingsOf(deps);
  let facts: Promise<NodeFacts> | null = null;
  return {
    name: network.name,
    networkId: network.networkId,
    custodyAddress: network.custodyAddress,
    clockCanBeMoved: clockControl !== null,
    askNode: () => (facts ??= readings.askNode()),
    readHalt: readings.readHalt,
  };
}

/**
 * Shares each reading among concurrent callers. The public may ask fifty times in one operation, and a
 * reading sends requests to the node, which the platform's own writes need.
 */
function readingsOf({ db, network }: LedgerNetworkNeeds): SharedReadings {
  return getOrMake(shared, network, () => ({
    askNode: freshSingleFlight(() => askNode(network)),
    readHalt: freshSingleFlight(() => readHalt(db)),
  }));
}

async function askNode(network: LedgerNetwork): Promise<NodeFacts> {
  const [status, settlement] = await Promise.all([network.status(), network.settlementContract()]);
  return { ...status, settlementAddress: settlement?.address ?? null };
}
