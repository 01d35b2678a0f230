/**
 * Kills an instance at every crash point of a retirement, on a real EVM chain.
 */
import { describeRetireCrashes } from './carbonCrashes.ts';
import { stageEvm } from './evmStage.ts';

describeRetireCrashes(stageEvm(), [1, 2]);
