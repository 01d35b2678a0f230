/**
 * A double of a deployed indexer on Stellar: its REST interface, and each signed delivery sent once, soon
 * after the event's ledger. It reads only the node's `getEvents`.
 */
import { randomBytes } from 'node:crypto';
import { rpc, scValToNative } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import type { IndexedEvent } from '../../src/indexer/client.ts';
import { serveIndexer } from '../../src/indexer/embedded/serveIndexer.ts';
import type { IndexerOptions, RunningIndexer } from '../../src/indexer/embedded/serveIndexer.ts';
import { createIndexerMemory } from '../indexerMemory.ts';
import type { News } from '../indexerMemory.ts';

/** Short enough for a delivery within moments of its ledger. */
const POLL_MS = 200;
/** A silent node would otherwise stop the reading. */
const REQUEST_TIMEOUT_MS = 5_000;
/** Events of one question. */
const PAGE = 1_000;
/**
 * Pages of one reading. A page also ends after a number of ledgers without events; the next reading
 * continues.
 */
const MAX_PAGES = 20;

export function startStellarIndexer(
  node: { url: string },
  onError: IndexerOptions['onError'] = () => {},
): Promise<RunningIndexer> {
  const server = new rpc.Server(node.url, { allowHttp: true });
  server.httpClient.defaults.timeout = REQUEST_TIMEOUT_MS;
  return serveIndexer({
    // Deployed indexers have none either.
    token: null,
    store: createIndexerMemory(createEventReader(server)),
    // No notifications: it polls.
    onNews: async () => async () => {},
    randomBytes,
    pollMs: POLL_MS,
    onError,
  });
}

/** Starts at the oldest ledger that the node keeps; a closed ledger is never undone. */
function createEventReader(server: rpc.Server): () => Promise<News> {
  let read: rpc.Api.GetEventsResponse | null = null;

  async function readPage(): Promise<rpc.Api.GetEventsResponse> {
    const { oldestLedger } = await server.getHealth();
    // A node that dropped the cursor's ledger refuses the cursor; reading then restarts at the oldest ledger.
    const isKnown = read !== null && ledgerOf(read.cursor) >= oldestLedger;
    const from = read && isKnown ? { cursor: read.cursor } : { startLedger: oldestLedger };
    return server.getEvents({ ...from, filters: [], limit: PAGE });
  }

  return async () => {
    const events: IndexedEvent[] = [];
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      read = await readPage();
      events.push(...read.events.map(toIndexedEvent));
      if (read.events.length < PAGE && ledgerOf(read.cursor) >= read.latestLedger)
        return { undoneFrom: null, events, hasMore: false };
    }
    return { undoneFrom: null, events, hasMore: true };
  };
}

/** A cursor begins with its position in the network's total order. */
function ledgerOf(cursor: string): number {
  return Number(BigInt(cursor.split('-')[0] ?? 0) >> 32n);
}

/** Arguments by position, as the contract publishes them; the first topic is the event's name. */
function toIndexedEvent(event: rpc.Api.EventResponse): IndexedEvent {
  const [name, ...topics] = event.topic;
  return {
    id: event.id,
    contract: event.contractId?.contractId() ?? '',
    eventType: name ? String(wireValue(name)) : '',
    ledger: event.ledger,
    txHash: event.txHash,
    timestamp: Date.parse(event.ledgerClosedAt) / 1000,
    data: { topics: topics.map(wireValue), value: wireValue(event.value) },
  };
}

function wireValue(value: xdr.ScVal): unknown {
  return asJson(scValToNative(value));
}

/** Large integers become decimal strings, bytes hexadecimal; a u32 stays a number. */
function asJson(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(asJson);
  return value;
}
