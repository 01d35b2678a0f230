/**
 * Kills an instance at every crash point of a retirement, on a real EVM chain.
 */
import { describeRetireCrashes } from './carbonCrashes.ts';
import { useEvmChain } from './evmChain.ts';

// crashPoints.test.ts tests how one instance goes on alone, which does not depend on the network.
describeRetireCrashes(useEvmChain(), [2]);
