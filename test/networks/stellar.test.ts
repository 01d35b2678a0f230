/**
 * The whole product on a simulated Stellar network.
 */
import { startStellarWorld } from './stellarWorld.ts';
import { describeStories } from './stories.ts';

describeStories('Stellar', startStellarWorld);
