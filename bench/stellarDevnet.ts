/**
 * Runs the Stellar devnet in a separate process, like a real node, so that its processor time does not count
 * as the product's. It ends with its parent.
 */
import { startStellarWorld } from '../devnet/stellar/stellarWorld.ts';

const { channels, closeEveryMs } = JSON.parse(process.argv[2] ?? '') as {
  channels: number;
  closeEveryMs: number;
};
const world = await startStellarWorld({
  channels,
  devnet: { closeEveryMs, closeSeconds: Math.ceil(closeEveryMs / 1000) },
});
process.send?.(world.ledger);
process.once('disconnect', () => void world.close().finally(() => process.exit()));
