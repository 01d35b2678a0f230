/**
 * OffRampSession: receipt tokens in the settlement contract while a ramp provider pays out, with the history
 * of both.
 */
import type { Caller } from '../../identity/roles.ts';
import {
  findOffRampSession,
  findOffRampSessionsByIds,
  FOLLOWED_SESSIONS,
  isExposed,
  readProviderStatuses,
  readReviews,
  type OffRampReview,
  type OffRampSession,
  type ProviderStatus,
} from '../../resolvers/warehouse/offRamp/findOffRampSession.ts';
import { versionOfSessionReview } from '../../resolvers/operations/reviewVersion.ts';
import { MANUAL_PROVIDER } from '../../ramp/providerName.ts';
import { forRoles } from '../core/access.ts';
import { createBatch, createRequiredBatch } from '../core/batch.ts';
import { isOperator, maySeeFarmer } from '../core/caller.ts';
import { transactionsOf } from '../operations/networkTransaction.ts';
import { subscribeTo, UPDATES } from '../core/updates.ts';
import { idOf } from '../core/inputs.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import {
  OffRampDepositSeenEnum,
  OffRampStateEnum,
  PayoutAccountTypeEnum,
  RampProviderKindEnum,
  RampStatusEnum,
  OffRampSessionReviewDecisionEnum,
} from './offRampEnums.ts';
import { quotedFields } from './offRampQuote.ts';
import { receiptOf, ReceiptRef } from './receipt.ts';
import { moment, momentOrNull } from '../core/time.ts';

const PayoutAccountRef = builder.objectRef<OffRampSession>('PayoutAccount').implement({
  description: 'The payout account, with its number masked.',
  fields: (t) => ({
    type: t.expose('payoutAccountType', { type: PayoutAccountTypeEnum, description: 'The type of account.' }),
    maskedAccountNumber: t.exposeString('maskedAccountNumber', {
      nullable: true,
      description:
        'The last characters of the account number, such as ••••4321. Null when an operator has erased the account, some time ' +
        'after the cash-out ended.',
    }),
  }),
});

const ProviderStatusRef = builder.objectRef<ProviderStatus>('ProviderStatusChange').implement({
  description: 'A status of the session at the ramp provider, as observed by the platform.',
  fields: (t) => ({
    status: t.expose('status', { type: RampStatusEnum, description: 'The status.' }),
    observedAt: t.expose('observedAt', moment('The time the status was observed')),
  }),
});

const OffRampReviewRef = builder.objectRef<OffRampReview>('OffRampSessionReview').implement({
  description: 'A review of the cash-out by an operator.',
  fields: (t) => ({
    flaggedBecause: t.exposeString('flaggedBecause', {
      description: 'The reason why the session was flagged for review, as text.',
    }),
    stateBefore: t.expose('stateBefore', {
      type: OffRampStateEnum,
      description: 'The state of the off-ramp session when it was flagged.',
    }),
    decision: t.expose('decision', {
      type: OffRampSessionReviewDecisionEnum,
      nullable: true,
      description:
        "The decision of the operator. Null while the review is open, and when the network's outcome or another " +
        'reason closed the review.',
    }),
    decidedBy: t.exposeString('decidedBy', {
      nullable: true,
      description: "The subject of the operator's token. Null without a decision.",
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: "The operator's reason. Null without a decision.",
    }),
    depositSeen: t.expose('depositSeen', {
      type: OffRampDepositSeenEnum,
      nullable: true,
      description:
        'What the settlement contract showed of the deposit when the operator decided. Null without a decision.',
    }),
    openedAt: t.expose('openedAt', moment('The time the session was flagged')),
    closedAt: t.expose(
      'closedAt',
      momentOrNull('The time the review was closed', 'Null while the review is open'),
    ),
  }),
});

const statusesOf = createBatch(readProviderStatuses);
const reviewsOf = createBatch(readReviews);

/** The off-ramp session of a list's item. */
export const sessionOf = createRequiredBatch('off-ramp session', findOffRampSessionsByIds);

export const OffRampSessionRef = builder.objectRef<OffRampSession>('OffRampSession');

function maySeeOffRampSession(caller: Caller | null, session: OffRampSession): boolean {
  return maySeeFarmer(caller, session.farmerId);
}

export const findVisibleSession = visible(findOffRampSession, maySeeOffRampSession);

builder.node(OffRampSessionRef, {
  ...ownedBy<OffRampSession>(({ farmerId }) => [farmerId]),
  description:
    'A cash-out of receipt tokens at the ramp provider and on the network. Visible to its farmer and to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: findVisibleSession,
  fields: (t) => ({
    state: t.expose('state', { type: OffRampStateEnum, description: 'The state of the session.' }),
    rampProvider: t.field({
      type: RampProviderKindEnum,
      description: 'The kind of ramp provider at which the session was opened.',
      resolve: ({ providerName }) => (providerName === MANUAL_PROVIDER ? 'MANUAL' : 'HTTP'),
    }),
    rampProviderName: t.string({
      nullable: true,
      description:
        'The name under which the platform has configured the ramp provider; it stays when the address of the provider changes. ' +
        'Null for MANUAL, and for callers who are not operators.',
      resolve: ({ providerName }, _args, { caller }) =>
        isOperator(caller) && providerName !== MANUAL_PROVIDER ? providerName : null,
    }),
    sessionId: t.exposeString('providerSessionId', {
      nullable: true,
      description:
        "The ramp provider's id of the session, which webhooks carry. Null until the session is open at the provider.",
    }),
    receipt: t.field({
      type: ReceiptRef,
      description: 'The receipt whose tokens are cashed out.',
      resolve: ({ receiptId }, _args, context) => receiptOf(context, receiptId),
    }),
    tokenAmount: t.expose('tokenAmountKg', {
      type: 'Kilograms',
      description: 'The amount in whole kilograms.',
    }),
    farmerId: t.exposeString('farmerId', {
      nullable: true,
      description:
        'The subject of the farmer whose receipt is cashed out. Null when the receipt names no farmer.',
    }),
    requestedBy: t.exposeString('requestedBy', { description: 'The subject who requested the session.' }),
    countryCode: t.expose('countryCode', {
      type: 'CountryCode',
      description: 'The country of the payout account: ISO 3166-1 alpha-2.',
    }),
    payoutAccount: t.field({
      type: PayoutAccountRef,
      description: 'The payout account, masked.',
      resolve: (session) => session,
    }),
    depositorAddress: t.expose('depositorAddress', {
      type: 'Address',
      description: 'The address whose tokens are deposited, and which receives a refund.',
    }),
    signatureDueAt: t.expose(
      'signatureDueAt',
      momentOrNull("The deadline for the holder's signed deposit", 'Null when custody deposits'),
    ),
    ...quotedFields(t, ', by the frozen quote'),
    feeBps: t.exposeInt('feeBps', {
      nullable: true,
      description: 'The fee in basis points, by the frozen quote. Null when the provider has no such rate.',
    }),
    quoteExpiresAt: t.expose('quoteExpiresAt', {
      type: 'UnixTime',
      description:
        'The expiry of the frozen quote, in Unix seconds, at most one day after its creation. It is the deadline ' +
        'for opening the session.',
    }),
  }),
});

/** The fields about the session's course and outcome. */
builder.objectFields(OffRampSessionRef, (t) => ({
  providerStatus: t.expose('providerStatus', {
    type: RampStatusEnum,
    nullable: true,
    description: "The provider's latest status. Null until a status was read.",
  }),
  exposed: t.boolean({
    description: 'Whether the provider has paid although the tokens are not deposited.',
    resolve: isExposed,
  }),
  depositTxHash: t.exposeString('depositTxHash', {
    nullable: true,
    description:
      'The hash of the deposit. Null until the deposit landed. `transactions` has earlier attempts.',
  }),
  resolutionTxHash: t.exposeString('resolutionTxHash', {
    nullable: true,
    description:
      'The hash of the release to the treasury, or of the refund. Null until it landed. `transactions` has ' +
      'earlier attempts.',
  }),
  stateReason: t.exposeString('stateReason', {
    nullable: true,
    description:
      'The reason why the session was closed or is being closed, or why the last deposit that a holder signed was ' +
      'refused, as text. Null otherwise.',
  }),
  cancelRequestedAt: t.expose(
    'cancelRequestedAt',
    momentOrNull('The time the cancellation was requested', 'Null when none was requested'),
  ),
  providerHistory: t.field({
    type: [ProviderStatusRef],
    description: 'The observed statuses of the provider, at most the latest 100, oldest first.',
    resolve: async ({ id }, _args, context) => (await statusesOf(context, id)) ?? [],
  }),
  transactions: t.field(
    transactionsOf(
      'All signed transactions of the session with their states, oldest first. `holderActs` has those that the ' +
        'holder signed.',
    ),
  ),
  reviews: t.field({
    type: [OffRampReviewRef],
    description:
      'The reviews of the session, at most the latest 100, oldest first. Always empty for callers who are not operators.',
    resolve: async ({ id }, _args, context) =>
      (isOperator(context.caller) && (await reviewsOf(context, id))) || [],
  }),
  reviewVersion: t.string({
    nullable: true,
    description:
      'The version of what is to be decided, for `resolveOffRampSessionReview`. It changes with each review, state and ' +
      'status of the provider, also when an earlier one comes back. Null unless the session is under review or waits ' +
      'for a ramp provider other than the configured one, and for callers who are not operators.',
    resolve: (session, _args, { caller, dependencies }) =>
      isOperator(caller) ? versionOfSessionReview(dependencies, session) : null,
  }),
  createdAt: t.expose('createdAt', moment('The time the session was requested')),
  endedAt: t.expose('endedAt', momentOrNull('The time the session became SETTLED, REFUNDED or CLOSED')),
}));

builder.queryField('offRampSession', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      'The off-ramp session with this id, in its current state. Null when no such session exists, and for another ' +
        "farmer's session.",
    ),
    type: OffRampSessionRef,
    args: idOf(OffRampSessionRef, 'session'),
    resolve: (_root, { id }, context) => findVisibleSession(id.id, context),
  }),
);

subscribeTo(
  'offRampSessionUpdated',
  OffRampSessionRef,
  forRoles(
    ['farmer', 'operator'],
    `Follows an off-ramp session. ${UPDATES}The subscription ends when the session is SETTLED, REFUNDED or ` +
      'CLOSED. A late deposit or a late status from the provider can still reopen the session, so read it again. ' +
      'Errors: NOT_FOUND (no such session that the caller may see).',
  ),
  {
    kind: FOLLOWED_SESSIONS,
    maySee: maySeeOffRampSession,
    noun: 'off-ramp session',
  },
);
