/**
 * Kills an instance at every crash point of a retirement, on a real EVM chain.
 */
import { describeRetireCrashes } from './carbonCrashes.ts';
import { useEvmChain } from './evmChain.ts';

describeRetireCrashes(useEvmChain(), [1, 2]);
