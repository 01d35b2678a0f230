/**
 * Kills an instance at every crash point of an issuance, on a real EVM chain.
 */
import { describeIssuanceCrashes } from './carbonCrashes.ts';
import { stageEvm } from './evmStage.ts';

describeIssuanceCrashes(stageEvm());
