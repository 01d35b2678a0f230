/**
 * Kills an instance at every crash point of a cash-out's payout, on a real EVM chain.
 */
import { describePayoutCrashes } from './cashOutCrashes.ts';
import { useEvmChain } from './evmChain.ts';

describePayoutCrashes(useEvmChain());
