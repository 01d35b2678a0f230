/**
 * The result of executing a call, and how a contract refuses. Shared by all contracts.
 */
import { NetworkRefusal } from '../../port.ts';
import type { Address, CallResult, RefusalReason, UnixSeconds } from '../../port.ts';

/** The caller, ledger and time of a call. */
export interface Context {
  networkId: string;
  factoryAddress: Address;
  source: Address;
  /** Close time of the ledger that the call lands in. */
  closedAt: UnixSeconds;
}

/** Positional, as a contract publishes it: the event's name, its further topics, its value. */
export interface ContractEvent {
  contract: Address;
  eventType: string;
  data: { topics: readonly string[]; value: EventValue };
}

type EventValue = string | readonly (string | number)[];

export interface Effects {
  result: CallResult;
  events: ContractEvent[];
}

/** Ends a call without effect: contracts check everything before their first change. */
export function refuse(reason: RefusalReason, message: string): never {
  throw new NetworkRefusal({ reason, message });
}
