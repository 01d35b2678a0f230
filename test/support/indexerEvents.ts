import { expect } from 'vitest';
import type { IndexedEvent } from '../../src/indexer/client.ts';

interface EventQuery {
  contract?: string;
  type?: string;
  /** Unix seconds: events at or after this moment. */
  since?: number;
  limit?: number;
}

/** What an indexer answers to GET /events. The product never asks: it is told by deliveries. */
export async function readEvents(
  { url, token = '' }: { url: string; token?: string },
  query: EventQuery,
): Promise<IndexedEvent[]> {
  const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const response = await fetch(`${url}/events?${parameters}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { events: IndexedEvent[] }).events;
}
