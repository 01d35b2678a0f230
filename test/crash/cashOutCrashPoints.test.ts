/**
 * Kills an instance at every crash point of a cash-out and of its payout, on the embedded network.
 */
import { embeddedLedger } from '../harness/ledgers.ts';
import { describeDepositCrashes, describePayoutCrashes } from './cashOutCrashes.ts';

describeDepositCrashes(() => embeddedLedger, 1);
describePayoutCrashes(() => embeddedLedger);
