/**
 * Starts an EVM chain for the crash tests of one file.
 */
import { afterAll, beforeAll } from 'vitest';
import type { LedgerConfig } from '../../src/ledger/network/families.ts';
import { startEvmWorld, type EvmWorld } from '../../devnet/evm/evmWorld.ts';

export function useEvmChain(): () => LedgerConfig {
  let world: EvmWorld | null = null;
  beforeAll(async () => {
    world = await startEvmWorld();
  });
  afterAll(() => world?.close());
  return () => {
    if (!world) throw new Error('the chain is not ready');
    return world.ledger;
  };
}
