/**
 * What an indexer needs of whatever it watches: the events, and room for the registrations. The embedded
 * network's is a database; a node has one of another kind.
 */
import type { IndexedEvent } from '../client.ts';

export interface Registration {
  id: string;
  url: string;
  /** Event types, or `*`. */
  events: string[];
  /** Signs for its deliveries. */
  secret: string;
  /** Unix seconds. */
  createdAt: bigint;
}

export interface EventFilter {
  contract?: string | undefined;
  type?: string | undefined;
  /** Unix seconds. */
  since?: number | undefined;
  limit: number;
}

/** One delivery that is due: this instance alone has it. */
export interface DueDelivery {
  registration: Registration;
  event: IndexedEvent;
}

export interface Claim {
  /** Fewer than were asked for when all events are claimed. */
  eventCount: number;
  deliveries: DueDelivery[];
}

export interface IndexerStore {
  /** Null when there are MAX_REGISTRATIONS already. */
  addRegistration(wanted: Pick<Registration, 'url' | 'events'>): Promise<Registration | null>;
  listRegistrations(): Promise<Registration[]>;
  /** Whether there was such a registration. */
  removeRegistration(id: string): Promise<boolean>;
  /** Oldest first. */
  readEvents(filter: EventFilter): Promise<IndexedEvent[]>;
  /** Takes the next events, each once and for good, with the deliveries that they mean. */
  claimDeliveries(maxEvents: number): Promise<Claim>;
  /** @throws when nothing can be read now */
  check(): Promise<void>;
}

/** Every event is delivered to every registration that wants it: more than this is a leak, not a use. */
export const MAX_REGISTRATIONS = 100;

/** Whether a registration is for events of this type. */
export function wants(registration: Registration, eventType: string): boolean {
  return registration.events.includes('*') || registration.events.includes(eventType);
}
