/**
 * What executing a call gives, and how a contract says no. Shared by all contracts.
 */
import { NetworkRefusal } from '../../port.ts';
import type { Address, CallResult, RefusalReason, UnixSeconds } from '../../port.ts';

/** Who calls, where and when. */
export interface Context {
  networkId: string;
  factoryAddress: Address;
  source: Address;
  /** Close time of the ledger that the call lands in. */
  closedAt: UnixSeconds;
}

/** Positional, like a contract publishes it: the event's name, its further topics, its value. */
export interface ContractEvent {
  contract: Address;
  eventType: string;
  data: { topics: readonly string[]; value: EventValue };
}

export type EventValue = string | readonly (string | number)[];

export interface Effects {
  result: CallResult;
  events: ContractEvent[];
}

/** Ends a call without effect: contracts check everything before their first change. */
export function refuse(reason: RefusalReason, message: string): never {
  throw new NetworkRefusal({ reason, message });
}
