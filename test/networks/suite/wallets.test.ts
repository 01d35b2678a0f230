/**
 * Holders who have their own wallet, on a real EVM chain and on Stellar's real host.
 */
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { platformOn } from '../../support/platform.ts';
import { describeWallets, type WalletWorld } from '../../support/wallets/walletSuite.ts';
import { startEvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { startStellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import type { NetworkWorld } from '../../../devnet/world.ts';

describeWallets('an EVM chain', async () => walletWorldIn(await startEvmWorld()));
describeWallets('Stellar', async () => walletWorldIn(await startStellarWorld()));

async function walletWorldIn(world: NetworkWorld): Promise<WalletWorld> {
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
