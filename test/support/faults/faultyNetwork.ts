/**
 * A network port with faults: it wraps a real network and loses, delays or refuses calls at the places that a
 * test names. Other calls behave as on the real network.
 */
import {
  NetworkRefusal,
  NetworkUnavailable,
  type LedgerNetwork,
  type NetworkCall,
} from '../../../src/ledger/network/port.ts';

export type Fault =
  /** The call never reaches the network. */
  | 'unreachable'
  /** The call takes effect, but its answer is lost. */
  | 'answer-lost'
  /** The network refuses the call permanently. */
  | 'refused'
  /** For `outcome`: the network's history no longer reaches back far enough. */
  | 'history-gone';

const FAULTY_METHODS = [
  'draft',
  'broadcast',
  'outcome',
  'retirementRecords',
  'carbonTotals',
  'status',
  'expiryOf',
  'offRampDeposit',
] as const;
export type FaultyMethod = (typeof FAULTY_METHODS)[number];

/** Called before each call of a faulty method; null lets the call through. */
export type FaultPlan = (
  method: FaultyMethod,
  callNumber: number,
  /** The call that is to be signed, when the method is `draft`. */
  drafted?: NetworkCall,
) => Fault | null;

export function withFaults<N extends LedgerNetwork>(network: N, plan: FaultPlan): N {
  const calls = new Map<FaultyMethod, number>();
  const faulty = { ...network };
  for (const method of FAULTY_METHODS) {
    const original = network[method].bind(network) as (...args: unknown[]) => Promise<unknown>;
    const replacement = async (...args: unknown[]): Promise<unknown> => {
      const callNumber = (calls.get(method) ?? 0) + 1;
      calls.set(method, callNumber);
      const drafted = method === 'draft' ? (args[0] as NetworkCall) : undefined;
      const fault = plan(method, callNumber, drafted);
      if (fault === 'unreachable') return lost(method, 'connection refused');
      if (fault === 'history-gone')
        return { status: 'undeterminable', reason: 'history does not reach back' };
      if (fault === 'refused') {
        throw new NetworkRefusal({ reason: 'OTHER', message: `${method} refused by the test` });
      }
      const answer = await original(...args);
      return fault === 'answer-lost' ? lost(method, 'connection reset after the request was sent') : answer;
    };
    Object.assign(faulty, { [method]: replacement });
  }
  return faulty;
}

/** A broadcast never throws, but returns "unknown". Other methods throw NetworkUnavailable. */
function lost(method: FaultyMethod, reason: string): unknown {
  if (method === 'broadcast') return { status: 'unknown', reason };
  throw new NetworkUnavailable(`${method}: ${reason}`);
}
