/**
 * Wallets on the embedded network, and a platform whose connection to the network can be made faulty.
 */
import { randomBytes } from 'node:crypto';
import type { EmbeddedNetwork } from '../embeddedNetwork.ts';
import { generateSecretKey } from '../../../src/lib/strkey.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { embeddedHolder, type Holder } from '../../../devnet/world.ts';
import type { TestDatabase } from '../database/database.ts';
import type { FaultPlan } from '../faults/faultyNetwork.ts';
import { startFaultyPlatform } from '../faults/faultyPlatform.ts';
import type { WalletWorld } from './walletWorld.ts';

interface EmbeddedHolder extends Holder {
  secretKey: string;
}

export interface EmbeddedWallets extends WalletWorld {
  /** The network without the faults. */
  network: EmbeddedNetwork;
  database: TestDatabase;
}

export function createEmbeddedHolder(): EmbeddedHolder {
  const secretKey = generateSecretKey(randomBytes);
  return { secretKey, ...embeddedHolder(secretKey) };
}

export async function startEmbeddedWallets(faults: FaultPlan = () => null): Promise<EmbeddedWallets> {
  const { database, network, platform } = await startFaultyPlatform(faults);
  return {
    platform,
    network,
    database,
    createHolder: async () => createEmbeddedHolder(),
    giveCredits: async (tokenAddress, holder, tonnes) =>
      void (await network.transfer(tokenAddress, holder, toBaseUnits(tonnes))),
    advanceClock: async (seconds) => void (await network.advanceClock(seconds)),
    async stop() {
      await platform.stop();
      await database.drop();
    },
  };
}
