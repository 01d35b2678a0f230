/**
 * Kills an instance at every crash point of a retirement and of an issuance, on the embedded network.
 */
import { embeddedLedger } from '../harness/ledgers.ts';
import { describeCarbonCrashes } from './carbonCrashes.ts';

describeCarbonCrashes(() => embeddedLedger);
