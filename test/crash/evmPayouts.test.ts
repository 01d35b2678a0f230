/**
 * Kills an instance at every crash point of a cash-out's payout, on a real EVM chain.
 */
import { describePayoutCrashes } from './cashOutCrashes.ts';
import { useEvmChain } from './evmChain.ts';

// A refund goes the same way through one submission, another call in it: payoutCrashPoints.test.ts.
describePayoutCrashes(useEvmChain(), ['settled']);
