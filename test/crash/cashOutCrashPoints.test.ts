/**
 * Kills an instance at every crash point of a cash-out and of its cancellation, on the embedded network.
 */
import { embeddedLedger } from '../../devnet/ledgers.ts';
import { describeCancelCrashes, describeDepositCrashes } from './cashOutCrashes.ts';

describeDepositCrashes(() => embeddedLedger, 1);
describeCancelCrashes(() => embeddedLedger);
