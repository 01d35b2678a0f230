/**
 * The whole product on a real EVM chain.
 */
import { startEvmWorld } from './evmWorld.ts';
import { describeStories } from './stories.ts';

describeStories('an EVM chain', startEvmWorld);
