/**
 * Kills an instance at every crash point of a cash-out, whose deposit needs an allowance, on a real EVM
 * chain.
 */
import { describeDepositCrashes } from './cashOutCrashes.ts';
import { useEvmChain } from './evmChain.ts';

describeDepositCrashes(useEvmChain(), 2);
