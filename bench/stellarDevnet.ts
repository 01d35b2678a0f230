/**
 * The Stellar devnet in a process of its own, as a node is: what it computes for a ledger is not the product's time. It ends
 * with its parent.
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
