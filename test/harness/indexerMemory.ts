/**
 * An indexer's store in memory, for doubles of the indexers that deployed networks have: filled by asking a
 * network for news, and forgotten with the process.
 */
import { randomBytes } from 'node:crypto';
import { systemClock, unixSeconds } from '../../src/clock.ts';
import type { IndexedEvent } from '../../src/indexer/client.ts';
import { hex } from '../../src/indexer/embedded/hex.ts';
import { MAX_REGISTRATIONS, wants } from '../../src/indexer/embedded/store.ts';
import type { IndexerStore, Registration } from '../../src/indexer/embedded/store.ts';

export interface News {
  /** What the network took back: all events of this ledger and later. Null when it took nothing back. */
  undoneFrom: number | null;
  /** In the network's order. */
  events: IndexedEvent[];
}

interface Wanted extends Registration {
  /** How many events there were already: those are not delivered. */
  skips: number;
}

/** A test's history, and more; the oldest would have to go first, and a double that forgets helps nobody. */
const MAX_EVENTS = 200_000;

/** @param readNews what happened since it was asked last */
export function createIndexerMemory(readNews: () => Promise<News>): IndexerStore {
  let events: IndexedEvent[] = [];
  let claimed = 0;
  const registrations = new Map<string, Wanted>();
  let reading: Promise<void> | null = null;

  function catchUp(): Promise<void> {
    reading ??= readNews()
      .then(remember)
      .finally(() => (reading = null));
    return reading;
  }

  function remember(news: News): void {
    const { undoneFrom } = news;
    if (undoneFrom !== null) {
      events = events.filter(({ ledger }) => ledger < undoneFrom);
      claimed = Math.min(claimed, events.length);
      for (const wanted of registrations.values()) wanted.skips = Math.min(wanted.skips, events.length);
    }
    events = events.concat(news.events);
    if (events.length > MAX_EVENTS) throw new Error(`The indexer double is full with ${MAX_EVENTS} events`);
  }

  return {
    async addRegistration({ url, events: types }) {
      if (registrations.size >= MAX_REGISTRATIONS) return null;
      await catchUp();
      const [id, secret] = [hex(randomBytes(16)), hex(randomBytes(32))];
      const createdAt = unixSeconds(systemClock.now());
      const added = { id, url, events: types, secret, createdAt, skips: events.length };
      registrations.set(id, added);
      return added;
    },
    listRegistrations: async () => [...registrations.values()],
    removeRegistration: async (id) => registrations.delete(id),
    async readEvents({ contract, type, since, limit }) {
      await catchUp();
      return events
        .filter(
          (event) =>
            (contract === undefined || event.contract.toLowerCase() === contract.toLowerCase()) &&
            (type === undefined || event.eventType === type) &&
            (since === undefined || event.timestamp >= since),
        )
        .slice(0, limit);
    },
    async claimDeliveries(maxEvents) {
      await catchUp();
      const first = claimed;
      const taken = events.slice(first, first + maxEvents);
      claimed += taken.length;
      const deliveries = taken.flatMap((event, offset) =>
        [...registrations.values()]
          .filter(
            (registration) => first + offset >= registration.skips && wants(registration, event.eventType),
          )
          .map((registration) => ({ registration, event })),
      );
      return { eventCount: taken.length, deliveries };
    },
    check: async () => {},
  };
}
