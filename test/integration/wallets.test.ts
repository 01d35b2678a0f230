/**
 * Holders with a wallet of their own, on the embedded network.
 */
import { createTestDatabase } from '../harness/database.ts';
import { createEmbeddedHolder } from '../harness/embeddedHolder.ts';
import { embeddedNetworkOn, platformOn } from '../harness/platform.ts';
import { describeWallets } from '../harness/walletSuite.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';

describeWallets('embedded', async () => {
  const database = await createTestDatabase({ poolSize: 20 });
  const network = await embeddedNetworkOn(database.handle);
  const platform = await platformOn(database.handle, network);
  await platform.start();
  return {
    platform,
    network,
    createHolder: async () => createEmbeddedHolder(),
    giveCredits: async (tokenAddress, holder, tonnes) =>
      void (await network.transfer(tokenAddress, holder, toBaseUnits(tonnes))),
    advanceClock: async (seconds) => void (await network.advanceClock(seconds)),
    async stop() {
      await platform.stop();
      await database.drop();
    },
  };
});
