/**
 * OffRampSession: receipt tokens in the settlement contract while a ramp provider pays out, with the history
 * of both.
 */
import type { Caller } from '../../identity/roles.ts';
import {
  findOffRampSession,
  FOLLOWED_SESSIONS,
  isExposed,
  readProviderStatuses,
  readReviews,
} from '../../resolvers/warehouse/offRamp/findOffRampSession.ts';
import type { OffRampSession, OffRampReview } from '../../resolvers/warehouse/offRamp/findOffRampSession.ts';
import { readTransactions } from '../../resolvers/carbon/findRetirement.ts';
import type { RampStatus } from '../../ramp/port.ts';
import { readProviderName } from '../../ramp/providerName.ts';
import { forRoles } from '../core/access.ts';
import { isOperator, maySeeFarmer } from '../core/caller.ts';
import { NetworkTransactionRef } from '../operations/networkTransaction.ts';
import type { Context } from '../core/context.ts';
import { UPDATES, updatesOf } from '../core/updates.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { builder } from '../core/builder.ts';
import { MoneyRef } from '../core/money.ts';
import {
  OffRampStateEnum,
  PayoutAccountTypeEnum,
  RampProviderKindEnum,
  RampStatusEnum,
  OffRampSessionReviewDecisionEnum,
} from './offRampEnums.ts';
import { receiptOf, ReceiptRef } from './receipt.ts';
import { moment, momentOrNull } from '../core/time.ts';

const PayoutAccountRef = builder.objectRef<OffRampSession>('PayoutAccount').implement({
  description: 'The payout account, as far as it is shown.',
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

const ProviderStatusRef = builder
  .objectRef<{ status: RampStatus; observedAt: Date }>('ProviderStatusChange')
  .implement({
    description: 'An observed status of the session at the ramp provider.',
    fields: (t) => ({
      status: t.expose('status', { type: RampStatusEnum, description: 'The status.' }),
      observedAt: t.expose('observedAt', moment('When it was observed')),
    }),
  });

const OffRampReviewRef = builder.objectRef<OffRampReview>('OffRampSessionReview').implement({
  description: 'A review of the cash-out by an operator.',
  fields: (t) => ({
    flaggedBecause: t.exposeString('flaggedBecause', { description: 'Why it was flagged, as text.' }),
    stateBefore: t.expose('stateBefore', {
      type: OffRampStateEnum,
      description: 'Where the off-ramp session stood when it was flagged.',
    }),
    decision: t.expose('decision', {
      type: OffRampSessionReviewDecisionEnum,
      nullable: true,
      description:
        "What an operator decided; null while it is open, or when the network's outcome or another reason closed it.",
    }),
    decidedBy: t.exposeString('decidedBy', {
      nullable: true,
      description: "The subject of the operator's token; null without a decision.",
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: "The operator's reason; null without a decision.",
    }),
    openedAt: t.expose('openedAt', moment('When it was flagged')),
    closedAt: t.expose('closedAt', momentOrNull('When it was closed', 'null while it is open')),
  }),
});

export const OffRampSessionRef = builder.objectRef<OffRampSession>('OffRampSession');

function maySeeOffRampSession(caller: Caller | null, session: OffRampSession): boolean {
  return maySeeFarmer(caller, session.farmerId);
}

/** Null when there is none, or the caller may not see it. */
export async function findVisibleSession(
  { caller, dependencies }: Context,
  id: string,
): Promise<OffRampSession | null> {
  const found = await findOffRampSession(dependencies, id);
  return found !== null && maySeeOffRampSession(caller, found) ? found : null;
}

builder.node(OffRampSessionRef, {
  ...ownedBy<OffRampSession>(({ farmerId }) => [farmerId]),
  description: 'An off-ramp session. Visible to its farmer and to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, context) => findVisibleSession(context, id),
  fields: (t) => ({
    state: t.expose('state', { type: OffRampStateEnum, description: 'Its state.' }),
    rampProvider: t.field({
      type: RampProviderKindEnum,
      description: 'The kind of ramp provider at which it was opened.',
      resolve: ({ providerName }) => readProviderName(providerName).kind,
    }),
    rampProviderEndpoint: t.string({
      nullable: true,
      description:
        "The host and path of the provider's interface. Null for MANUAL, and for callers who are not operators.",
      resolve: ({ providerName }, _args, { caller }) =>
        isOperator(caller) ? readProviderName(providerName).address : null,
    }),
    sessionId: t.exposeString('providerSessionId', {
      nullable: true,
      description: "The ramp provider's id of it, which webhooks carry; null until it is open there.",
    }),
    receipt: t.field({
      type: ReceiptRef,
      description: 'The receipt whose tokens are cashed out.',
      resolve: ({ receiptId }, _args, context) => receiptOf(context, receiptId),
    }),
    tokenAmount: t.expose('tokenAmountKg', { type: 'Kilograms', description: 'Whole kilograms.' }),
    farmerId: t.exposeString('farmerId', { nullable: true, description: 'The farmer whose receipt it is.' }),
    requestedBy: t.exposeString('requestedBy', { description: 'The subject who requested it.' }),
    countryCode: t.expose('countryCode', {
      type: 'CountryCode',
      description: 'Country of the payout account: ISO 3166-1 alpha-2.',
    }),
    payoutAccount: t.field({
      type: PayoutAccountRef,
      description: 'The payout account, masked.',
      resolve: (session) => session,
    }),
    depositorAddress: t.expose('depositorAddress', {
      type: 'Address',
      description: 'The address whose tokens are deposited, and that receives a refund.',
    }),
    signatureDueAt: t.expose(
      'signatureDueAt',
      momentOrNull("The deadline for the holder's signed deposit", 'null when custody deposits'),
    ),
    payout: t.field({
      type: MoneyRef,
      description: 'What is paid out, after the fee, by the frozen quote.',
      resolve: ({ fiatAmount: amount, fiatCurrency: currency }) => ({ amount, currency }),
    }),
    fee: t.field({
      type: MoneyRef,
      description: 'What the provider keeps, by the frozen quote.',
      resolve: ({ fiatFee: amount, fiatCurrency: currency }) => ({ amount, currency }),
    }),
    feeBps: t.exposeInt('feeBps', {
      nullable: true,
      description: 'The fee in basis points, by the frozen quote; null where the provider has no such rate.',
    }),
    exchangeRate: t.expose('exchangeRate', {
      type: 'Decimal',
      description: 'Tokens (kilograms) per one unit of the currency, by the frozen quote.',
    }),
    quoteExpiresAt: t.expose('quoteExpiresAt', {
      type: 'UnixTime',
      description:
        'The expiry of the frozen quote, in Unix seconds, a day after its creation at most: the deadline for opening the session.',
    }),
  }),
});

/** The fields about the session's course and outcome. */
builder.objectFields(OffRampSessionRef, (t) => ({
  providerStatus: t.expose('providerStatus', {
    type: RampStatusEnum,
    nullable: true,
    description: "The provider's latest status; null until it was read.",
  }),
  exposed: t.boolean({
    description: 'Whether the provider has paid while the tokens are not deposited.',
    resolve: isExposed,
  }),
  depositTxHash: t.exposeString('depositTxHash', {
    nullable: true,
    description: 'The hash of the deposit; null until it landed. Earlier attempts are in `transactions`.',
  }),
  resolutionTxHash: t.exposeString('resolutionTxHash', {
    nullable: true,
    description:
      'The hash of the release to the treasury or of the refund; null until it landed. Earlier ' +
      'attempts are in `transactions`.',
  }),
  stateReason: t.exposeString('stateReason', {
    nullable: true,
    description:
      'Why it was closed or is to be, or why the last deposit that a holder signed was refused, as text; null otherwise.',
  }),
  cancelRequestedAt: t.expose(
    'cancelRequestedAt',
    momentOrNull('When its cancellation was requested', 'null when it was not'),
  ),
  providerHistory: t.field({
    type: [ProviderStatusRef],
    description: "The provider's observed statuses, the latest 100 at most, oldest first.",
    resolve: ({ id }, _args, { dependencies }) => readProviderStatuses(dependencies, id),
  }),
  transactions: t.field({
    type: [NetworkTransactionRef],
    description:
      'Every signed transaction of it with its state, oldest first. Those that its holder signed are in `holderActs`.',
    resolve: ({ id }, _args, { dependencies }) => readTransactions(dependencies, id),
  }),
  reviews: t.field({
    type: [OffRampReviewRef],
    description:
      'Its reviews, the latest 100 at most, oldest first. Always empty for callers who are not operators.',
    resolve: ({ id }, _args, { caller, dependencies }) =>
      isOperator(caller) ? readReviews(dependencies, id) : [],
  }),
  createdAt: t.expose('createdAt', moment('When it was requested')),
  endedAt: t.expose('endedAt', momentOrNull('When it became SETTLED, REFUNDED or CLOSED')),
}));

builder.queryField('offRampSession', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      'An off-ramp session by its id, with its present state. Null when there is none, and for another ' +
        "farmer's.",
    ),
    type: OffRampSessionRef,
    nullable: true,
    args: {
      id: t.arg.globalID({
        for: OffRampSessionRef,
        required: true,
        description: 'The `id` of the session.',
      }),
    },
    resolve: (_root, { id }, context) => findVisibleSession(context, id.id),
  }),
);

const followed = {
  kind: FOLLOWED_SESSIONS,
  find: findOffRampSession,
  maySee: maySeeOffRampSession,
  noun: 'off-ramp session',
};

builder.subscriptionField('offRampSessionUpdated', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      `An off-ramp session. ${UPDATES}The subscription ends when the session is SETTLED, REFUNDED or CLOSED; a late deposit or a late ` +
        'status from the provider can still reopen it, so read it again. NOT_FOUND when the caller may see none by that id.',
    ),
    type: OffRampSessionRef,
    args: {
      id: t.arg.globalID({
        for: OffRampSessionRef,
        required: true,
        description: 'The `id` of the off-ramp session.',
      }),
    },
    subscribe: (_root, args, context) => updatesOf(followed, args, context),
    resolve: (session: OffRampSession) => session,
  }),
);
