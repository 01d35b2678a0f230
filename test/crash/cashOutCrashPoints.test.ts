/**
 * Kills an instance at every crash point of a cash-out, of its payout and of its cancellation, on the embedded network.
 */
import { embeddedLedger } from '../../devnet/ledgers.ts';
import { describeCancelCrashes, describeDepositCrashes, describePayoutCrashes } from './cashOutCrashes.ts';

describeDepositCrashes(() => embeddedLedger, 1);
describePayoutCrashes(() => embeddedLedger);
describeCancelCrashes(() => embeddedLedger);
