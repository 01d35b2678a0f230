/**
 * The enumerations of off-ramp sessions.
 */
import { enumOf } from '../core/enums.ts';

export const OffRampStateEnum = enumOf('OffRampSessionState', 'The state of an off-ramp session.', {
  OPENING: 'The session is being opened at the ramp provider. No tokens have moved.',
  AWAITING_SIGNATURE:
    "The session is open at the provider. The holder's wallet must sign the deposit by `signatureDueAt`.",
  DEPOSITING: 'The session is open at the provider, and the tokens are being deposited.',
  AWAITING_PAYOUT: 'The settlement contract holds the tokens, and the provider pays.',
  CONFIRMING: 'The payout was made, and the tokens are being released to the treasury.',
  REFUNDING: 'The payout was not made, and the tokens are being refunded.',
  CLOSING:
    'The session was cancelled, or the deposit was refused or not signed in time. The session is being closed ' +
    'at the provider.',
  SETTLED: 'The payout was made, and the tokens were released to the treasury.',
  REFUNDED: 'The payout was not made, and the tokens were refunded to the depositor.',
  CLOSED:
    'The session ended before tokens were taken, for the reason in `stateReason`. A late deposit, or a late ' +
    'status from the provider, reopens the session.',
  NEEDS_REVIEW: 'An operator has to decide with `resolveOffRampSessionReview`.',
});

export const RampProviderKindEnum = enumOf('RampProviderKind', 'A kind of ramp provider.', {
  MANUAL: 'People make the payouts, and operators report them with `setManualSessionStatus`.',
  HTTP: 'A provider with an HTTP interface, which makes the payouts itself.',
});

export const RampStatusEnum = enumOf('RampSessionStatus', 'The status of a payout at the ramp provider.', {
  pending: 'The payout has not started.',
  processing: 'The payout is in progress.',
  settled: 'The payout was made.',
  failed: 'The payout was not made and will not be made.',
  refunded: 'The payout was made, then taken back.',
});

export const PayoutAccountTypeEnum = enumOf('PayoutAccountType', 'The type of a payout account.', {
  MOBILE_MONEY: 'An account with a mobile operator; `mobile-money` at the provider.',
  BANK: 'A bank account; `bank` at the provider.',
});

export const OffRampDepositSeenEnum = enumOf(
  'OffRampDepositSeen',
  "What the settlement contract showed of an off-ramp session's deposit.",
  {
    PENDING: 'The settlement contract held the tokens.',
    SETTLED: 'The tokens were released to the treasury.',
    REFUNDED: 'The tokens were refunded to the depositor.',
    RECORDED: 'The settlement contract had the status RECORDED, which the platform does not use.',
    NONE: 'The settlement contract had no deposit of the session.',
  },
);

export const OffRampSessionReviewDecisionEnum = enumOf(
  'OffRampSessionReviewDecision',
  'The decision of an operator about an off-ramp session under review.',
  {
    RETRY: 'Continues from the state before the review: signs again, or asks the provider again.',
    CONFIRM: 'Releases the deposited tokens to the treasury.',
    REFUND: 'Refunds the deposited tokens to the depositor.',
    ACCEPT: 'Accepts the state that the network shows: released, refunded, or never deposited.',
  },
);
