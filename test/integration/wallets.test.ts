/**
 * Holders with a wallet of their own, on the embedded network.
 */
import { startEmbeddedWallets } from '../harness/embeddedWallets.ts';
import { describeWallets } from '../harness/walletSuite.ts';

describeWallets('embedded', startEmbeddedWallets);
