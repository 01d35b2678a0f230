/**
 * The enumerations of off-ramp sessions.
 */
import { builder } from '../core/builder.ts';

export const OffRampStateEnum = builder.enumType('OffRampSessionState', {
  description: 'The state of an off-ramp session.',
  values: {
    OPENING: { description: 'The session is being opened at the ramp provider. No tokens have moved.' },
    AWAITING_SIGNATURE: {
      description:
        "The session is open at the provider. The holder's wallet must sign the deposit by `signatureDueAt`.",
    },
    DEPOSITING: { description: 'The session is open at the provider, and the tokens are being deposited.' },
    AWAITING_PAYOUT: { description: 'The settlement contract holds the tokens, and the provider pays.' },
    CONFIRMING: { description: 'The payout was made, and the tokens are being released to the treasury.' },
    REFUNDING: { description: 'The payout was not made, and the tokens are being refunded.' },
    CLOSING: {
      description:
        'The session was cancelled, or the deposit was refused or not signed in time. The session is being closed ' +
        'at the provider.',
    },
    SETTLED: { description: 'The payout was made, and the tokens were released to the treasury.' },
    REFUNDED: { description: 'The payout was not made, and the tokens were refunded to the depositor.' },
    CLOSED: {
      description:
        'The session ended before tokens were taken, for the reason in `stateReason`. A late deposit, or a late ' +
        'status from the provider, reopens the session.',
    },
    NEEDS_REVIEW: { description: 'An operator has to decide with `resolveOffRampSessionReview`.' },
  },
});

export const RampProviderKindEnum = builder.enumType('RampProviderKind', {
  description: 'A kind of ramp provider.',
  values: {
    MANUAL: {
      description: 'People make the payouts, and operators report them with `setManualSessionStatus`.',
    },
    HTTP: { description: 'A provider with an HTTP interface, which makes the payouts itself.' },
  },
});

export const RampStatusEnum = builder.enumType('RampSessionStatus', {
  description: 'The status of a payout at the ramp provider.',
  values: {
    PENDING: { value: 'pending', description: 'The payout has not started.' },
    PROCESSING: { value: 'processing', description: 'The payout is in progress.' },
    SETTLED: { value: 'settled', description: 'The payout was made.' },
    FAILED: { value: 'failed', description: 'The payout was not made and will not be made.' },
    REFUNDED: { value: 'refunded', description: 'The payout was made, then taken back.' },
  },
});

export const PayoutAccountTypeEnum = builder.enumType('PayoutAccountType', {
  description: 'The type of a payout account.',
  values: {
    MOBILE_MONEY: {
      description: 'An account with a mobile operator; `mobile-money` at the provider.',
    },
    BANK: { description: 'A bank account; `bank` at the provider.' },
  },
});

export const OffRampSessionReviewDecisionEnum = builder.enumType('OffRampSessionReviewDecision', {
  description: 'The decision of an operator about an off-ramp session under review.',
  values: {
    RETRY: {
      description: 'Continues from the state before the review: signs again, or asks the provider again.',
    },
    CONFIRM: { description: 'Releases the deposited tokens to the treasury.' },
    REFUND: { description: 'Refunds the deposited tokens to the depositor.' },
    ACCEPT: {
      description: 'Accepts the state that the network shows: released, refunded, or never deposited.',
    },
  },
});
