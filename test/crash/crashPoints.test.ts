/**
 * Kills an instance at every crash point of a retirement and of an issuance, on the embedded network.
 */
import { embeddedLedger } from '../../devnet/ledgers.ts';
import { describeIssuanceCrashes, describeRetireCrashes } from './carbonCrashes.ts';

describeRetireCrashes(() => embeddedLedger, [1, 2]);
describeIssuanceCrashes(() => embeddedLedger);
