/**
 * The crash points of retirements, issuances, cash-outs and payouts, on a real EVM chain.
 */
import { afterAll, beforeAll } from 'vitest';
import { startEvmWorld, type EvmWorld } from '../networks/evmWorld.ts';
import { describeCarbonCrashes } from './carbonCrashes.ts';
import { describeCashOutCrashes } from './cashOutCrashes.ts';

let world: EvmWorld;
beforeAll(async () => {
  world = await startEvmWorld();
});
afterAll(() => world.close());

describeCarbonCrashes(() => world.ledger);
describeCashOutCrashes(() => world.ledger, 2);
