/**
 * Holders who have their own wallet, on a real EVM chain and on Stellar's real host.
 */
import { startEvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { startStellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import { describeWallets } from '../../support/wallets/walletSuite.ts';
import { walletWorldIn } from '../../support/wallets/walletWorldIn.ts';

describeWallets('an EVM chain', async () => walletWorldIn(await startEvmWorld()));
describeWallets('Stellar', async () => walletWorldIn(await startStellarWorld()));
