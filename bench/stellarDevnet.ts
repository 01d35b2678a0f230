/**
 * Runs the Stellar devnet in a separate process, like a real node, so that its processor time does not count
 * as the product's. It ends with its parent.
 */
import { startStellarWorld } from '../devnet/stellar/stellarWorld.ts';
import { BLOCK_SECONDS, CHANNELS } from './pace.ts';

const world = await startStellarWorld({
  channels: CHANNELS,
  devnet: { closeEveryMs: BLOCK_SECONDS * 1000, closeSeconds: BLOCK_SECONDS },
});
process.send?.(world.ledger);
process.once('disconnect', () => void world.close().finally(() => process.exit()));
