/**
 * Holders who have their own wallet, on the embedded network.
 */
import { startEmbeddedWallets } from '../../support/wallets/embeddedWallets.ts';
import { describeWallets } from '../../support/wallets/walletSuite.ts';

describeWallets('embedded', startEmbeddedWallets);
