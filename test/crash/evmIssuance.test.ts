/**
 * Kills an instance at every crash point of an issuance, on a real EVM chain.
 */
import { describeIssuanceCrashes } from './carbonCrashes.ts';
import { useEvmChain } from './evmChain.ts';

describeIssuanceCrashes(useEvmChain());
