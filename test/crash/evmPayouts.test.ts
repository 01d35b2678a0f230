/**
 * Kills an instance at every crash point of a cash-out's payout, on a real EVM chain.
 */
import { describePayoutCrashes } from './cashOutCrashes.ts';
import { stageEvm } from './evmStage.ts';

describePayoutCrashes(stageEvm());
