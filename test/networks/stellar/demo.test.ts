/**
 * The whole product on a Stellar network with the real host.
 */
import { startStellarWorld } from '../../../devnet/stellar/stellarWorld.ts';
import { describeDemo } from '../suite/demo.ts';

describeDemo('Stellar', startStellarWorld);
