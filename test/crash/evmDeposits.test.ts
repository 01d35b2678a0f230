/**
 * Kills an instance at every crash point of a cash-out, whose deposit takes an approval, on a real EVM chain.
 */
import { describeDepositCrashes } from './cashOutCrashes.ts';
import { stageEvm } from './evmStage.ts';

describeDepositCrashes(stageEvm(), 2);
