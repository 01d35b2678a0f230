/**
 * Kills an instance at every crash point of a retirement, on a real EVM chain.
 */
import { describeRetireCrashes } from './carbonCrashes.ts';
import { useEvmChain } from './evmChain.ts';

// How one instance goes on alone does not depend on the network: crashPoints.test.ts.
describeRetireCrashes(useEvmChain(), [2]);
