/**
 * The platform on a network of the tests, for the suite of wallets.
 */
import { connectLedger } from '../../../devnet/ledgers.ts';
import type { NetworkWorld } from '../../../devnet/world.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { createTestDatabase } from '../database/database.ts';
import { platformOn } from '../platform.ts';
import type { WalletWorld } from './walletWorld.ts';

export async function walletWorldIn(world: NetworkWorld): Promise<WalletWorld> {
  const database = await createTestDatabase();
  const network = await connectLedger(world.ledger, database.handle);
  const platform = await platformOn(database.handle, network);
  await platform.start();
  return {
    platform,
    network,
    createHolder: world.createHolder,
    giveCredits: (tokenAddress, holder, tonnes) =>
      world.transferFromCustody(tokenAddress, holder, toBaseUnits(tonnes)),
    advanceClock: world.advanceClock,
    async stop() {
      await platform.stop();
      await database.drop();
      await world.close();
    },
  };
}
