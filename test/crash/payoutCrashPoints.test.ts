/**
 * Kills an instance at every crash point of a payout, on the embedded network.
 */
import { embeddedLedger } from '../../devnet/ledgers.ts';
import { describePayoutCrashes } from './cashOutCrashes.ts';

describePayoutCrashes(() => embeddedLedger);
