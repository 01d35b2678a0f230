/**
 * The result of a call's execution, and a contract's refusal. Shared by all contracts.
 */
import { refused } from '../../port.ts';
import type { Address, CallResult, RefusalReason, UnixSeconds } from '../../port.ts';

/** The caller, ledger and time of a call. */
export interface Context {
  networkId: string;
  factoryAddress: Address;
  source: Address;
  /** Close time of the ledger that the call lands in. */
  closedAt: UnixSeconds;
}

/** An event as a contract publishes it, by position: the event's name, its further topics, its value. */
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

export function eventOf(
  contract: Address,
  eventType: string,
  topics: readonly string[],
  value: EventValue,
): ContractEvent {
  return { contract, eventType, data: { topics, value } };
}

/** Ends a call without effect, because contracts check everything before their first change. */
export function refuse(reason: RefusalReason, message: string): never {
  throw refused(reason, message);
}
