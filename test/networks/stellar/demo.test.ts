/**
 * The whole product on a simulated Stellar network.
 */
import { startStellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import { describeDemo } from '../suite/demo.ts';

describeDemo('Stellar', startStellarWorld);
