/**
 * The port to the network that an indexer watches: its events, and storage for the registrations. The
 * embedded network implements the port over its database, a development network over its node.
 */
import type { IndexedEvent } from '../client.ts';

export interface Registration {
  id: string;
  url: string;
  /** Event types, or `*`. */
  events: string[];
  /** The key that signs its deliveries. */
  secret: string;
  /** Unix seconds. */
  createdAt: bigint;
}

/** One due delivery, claimed by this instance alone. */
export interface DueDelivery {
  registration: Registration;
  event: IndexedEvent;
}

export interface Claim {
  /** Fewer than asked for when all events are claimed. */
  eventCount: number;
  deliveries: DueDelivery[];
}

export interface IndexerStore {
  /** Null when there are MAX_REGISTRATIONS already. */
  addRegistration(wanted: Pick<Registration, 'url' | 'events'>): Promise<Registration | null>;
  listRegistrations(): Promise<Registration[]>;
  /** Resolves to whether there was such a registration. */
  removeRegistration(id: string): Promise<boolean>;
  /** Takes the next events, each once and finally, with their deliveries. */
  claimDeliveries(maxEvents: number): Promise<Claim>;
  /** @throws when nothing can be read now */
  check(): Promise<void>;
}

/** Every event goes to every registration that wants it; more than this is a leak. */
export const MAX_REGISTRATIONS = 100;

export function wants(registration: Registration, eventType: string): boolean {
  return registration.events.includes('*') || registration.events.includes(eventType);
}
