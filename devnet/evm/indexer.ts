/**
 * The double of a deployed indexer on an EVM chain. It has the same REST interface, and signs and sends each
 * delivery once, as soon as the event is in a block. It reads only the node's logs.
 */
import { randomBytes } from 'node:crypto';
import { serveIndexer } from '../../src/indexer/embedded/serveIndexer.ts';
import type { IndexerOptions, RunningIndexer } from '../../src/indexer/embedded/serveIndexer.ts';
import { createIndexerMemory } from '../indexerMemory.ts';
import type { Anvil } from './anvil.ts';
import { createChainReader } from './chainEvents.ts';

/** Short enough for a delivery within moments of its block. */
const POLL_MS = 200;

export function startEvmIndexer(
  node: Pick<Anvil, 'rpc'>,
  onError: IndexerOptions['onError'] = () => {},
): Promise<RunningIndexer> {
  return serveIndexer({
    // Deployed indexers have none either.
    token: null,
    store: createIndexerMemory(createChainReader(node.rpc)),
    // No notifications: it polls.
    onNews: async () => async () => {},
    randomBytes,
    pollMs: POLL_MS,
    onError,
  });
}
