/**
 * The enumerations of off-ramp sessions.
 */
import { builder } from '../core/builder.ts';

export const OffRampStateEnum = builder.enumType('OffRampSessionState', {
  description: 'State of an off-ramp session.',
  values: {
    OPENING: { description: 'Being opened at the ramp provider; no tokens have moved.' },
    AWAITING_SIGNATURE: {
      description: "Open at the provider; the holder's wallet must sign the deposit by `signatureDueAt`.",
    },
    DEPOSITING: { description: 'Open at the provider; the tokens are being deposited.' },
    AWAITING_PAYOUT: { description: 'The settlement contract holds the tokens; the provider pays.' },
    CONFIRMING: { description: 'Paid; the tokens are being released to the treasury.' },
    REFUNDING: { description: 'Not paid; the tokens are being refunded.' },
    CLOSING: {
      description:
        'Cancelled, or the deposit was refused or not signed in time; the session is being closed at the provider.',
    },
    SETTLED: { description: 'Paid, and the tokens released to the treasury.' },
    REFUNDED: { description: 'Not paid, and the tokens refunded to the depositor.' },
    CLOSED: {
      description:
        'Ended before tokens were taken; `stateReason` says why. A late deposit, or a late status from the provider, reopens it.',
    },
    NEEDS_REVIEW: { description: 'An operator must decide with `resolveOffRampSessionReview`.' },
  },
});

export const RampProviderKindEnum = builder.enumType('RampProviderKind', {
  description: 'A kind of ramp provider.',
  values: {
    MANUAL: { description: 'People pay out, and operators report it with `setManualSessionStatus`.' },
    HTTP: { description: 'A provider with an HTTP interface, which pays out by itself.' },
  },
});

export const RampStatusEnum = builder.enumType('RampSessionStatus', {
  description: 'Status of a payout at the ramp provider.',
  values: {
    PENDING: { value: 'pending', description: 'Not started.' },
    PROCESSING: { value: 'processing', description: 'In progress.' },
    SETTLED: { value: 'settled', description: 'Paid.' },
    FAILED: { value: 'failed', description: 'Not paid, and it will not be.' },
    REFUNDED: { value: 'refunded', description: 'Paid, then taken back.' },
  },
});

export const PayoutAccountTypeEnum = builder.enumType('PayoutAccountType', {
  description: 'Type of a payout account.',
  values: {
    MOBILE_MONEY: {
      description: 'An account with a mobile operator; `mobile-money` at the provider.',
    },
    BANK: { description: 'A bank account; `bank` at the provider.' },
  },
});

export const OffRampSessionReviewDecisionEnum = builder.enumType('OffRampSessionReviewDecision', {
  description: 'What an operator decides about an off-ramp session under review.',
  values: {
    RETRY: { description: 'Continue from where it stood: sign again, or ask the provider again.' },
    CONFIRM: { description: 'Release the deposited tokens to the treasury.' },
    REFUND: { description: 'Refund the deposited tokens to the depositor.' },
    ACCEPT: { description: 'Accept what the network shows: released, refunded, or never deposited.' },
  },
});
