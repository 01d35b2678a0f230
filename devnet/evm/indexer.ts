/**
 * The double of a deployed indexer on an EVM chain: speaks its REST interface, and signs and sends its
 * deliveries once, as soon as an event is in a block; what it reads is the node's logs alone.
 */
import { randomBytes } from 'node:crypto';
import { serveIndexer } from '../../src/indexer/embedded/serveIndexer.ts';
import type { IndexerOptions, RunningIndexer } from '../../src/indexer/embedded/serveIndexer.ts';
import { createIndexerMemory } from '../indexerMemory.ts';
import type { Anvil } from './anvil.ts';
import { createChainReader } from './chainEvents.ts';

/** Often enough that a delivery comes within moments of its block. */
const POLL_MS = 200;

export function startEvmIndexer(
  node: Pick<Anvil, 'rpc'>,
  onError: IndexerOptions['onError'] = () => {},
): Promise<RunningIndexer> {
  return serveIndexer({
    // As deployed ones are.
    token: null,
    store: createIndexerMemory(createChainReader(node.rpc)),
    // No notifications: it polls.
    onNews: async () => async () => {},
    randomBytes,
    pollMs: POLL_MS,
    onError,
  });
}
