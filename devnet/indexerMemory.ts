/**
 * An indexer's store in memory, for doubles of deployed indexers: filled from a network, and lost with the
 * process.
 */
import { randomBytes } from 'node:crypto';
import { systemClock, unixSeconds } from '../src/lib/clock.ts';
import type { IndexedEvent } from '../src/indexer/client.ts';
import { hex } from '../src/indexer/embedded/hex.ts';
import { MAX_REGISTRATIONS, wants } from '../src/indexer/embedded/store.ts';
import type { IndexerStore, Registration } from '../src/indexer/embedded/store.ts';

export interface News {
  /**
   * The first ledger whose events the network removed, together with all later ones; null when it removed
   * none.
   */
  undoneFrom: number | null;
  /** In the network's order. */
  events: IndexedEvent[];
  /** Whether the next call returns more events that exist already. */
  hasMore: boolean;
}

interface Wanted extends Registration {
  /** The number of events before the registration, which are not delivered. */
  skips: number;
}

/** More than a test's history. Beyond it the double throws, instead of dropping the oldest events. */
const MAX_EVENTS = 200_000;

/** @param readNews returns the events since its last call */
export function createIndexerMemory(readNews: () => Promise<News>): IndexerStore {
  let events: IndexedEvent[] = [];
  let claimed = 0;
  const registrations = new Map<string, Wanted>();
  let reading: Promise<void> | null = null;

  function catchUp(): Promise<void> {
    reading ??= readAll(readNews, remember).finally(() => (reading = null));
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
    async claimDeliveries(maxEvents) {
      // The first registration skips earlier events, so it is early enough to read them then.
      if (registrations.size === 0) return { eventCount: 0, deliveries: [] };
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

async function readAll(readNews: () => Promise<News>, remember: (news: News) => void): Promise<void> {
  for (;;) {
    const news = await readNews();
    remember(news);
    if (!news.hasMore) return;
  }
}
