/**
 * CashOutSession: receipt tokens in custody while a ramp provider pays out, with both histories side by side.
 */
import { unixSeconds } from '../clock.ts';
import type { Caller } from '../identity/roles.ts';
import { findCashOut, isExposed, readProviderStatuses, readReviews } from '../resolvers/findCashOut.ts';
import type { CashOut, CashOutReview } from '../resolvers/findCashOut.ts';
import { readTransactions } from '../resolvers/findRetirement.ts';
import type { RampStatus } from '../ramp/port.ts';
import { forRoles } from './access.ts';
import { isOperator, maySeeFarmer } from './caller.ts';
import { NetworkTransactionRef } from './networkTransaction.ts';
import { notFound } from './notFound.ts';
import { builder } from './platform.ts';
import { receiptOf, ReceiptRef } from './receipt.ts';

export const CashOutStateEnum = builder.enumType('CashOutState', {
  description: 'How far a cash-out is.',
  values: {
    OPENING: { description: 'Being opened at the ramp provider; no tokens have moved.' },
    AWAITING_SIGNATURE: {
      description: "Open at the provider; the holder's wallet is to sign the deposit, by `signUntil`.",
    },
    DEPOSITING: { description: 'Open at the provider; the tokens are on their way into custody.' },
    AWAITING_PAYOUT: { description: 'The tokens are in custody; the provider pays.' },
    CONFIRMING: { description: 'Paid; the tokens are being released to the treasury.' },
    REFUNDING: { description: 'Not paid; the tokens are being given back.' },
    CLOSING: {
      description:
        'The deposit was refused, or not signed in time; the session is being closed at the provider.',
    },
    SETTLED: { description: 'Paid, and the tokens released to the treasury.' },
    REFUNDED: { description: 'Not paid, and the tokens given back to the depositor.' },
    REFUSED: { description: 'Refused by the provider or the network; no tokens were taken.' },
    NEEDS_REVIEW: { description: 'No rule decides: an operator does, with resolveSessionReview.' },
  },
});

export const RampStatusEnum = builder.enumType('RampStatus', {
  description: 'What a ramp provider says of a payout.',
  values: {
    PENDING: { value: 'pending', description: 'Not begun.' },
    PROCESSING: { value: 'processing', description: 'Under way.' },
    SETTLED: { value: 'settled', description: 'Paid.' },
    FAILED: { value: 'failed', description: 'Not paid, and it will not be.' },
    REFUNDED: { value: 'refunded', description: 'Paid, and taken back.' },
  },
});

export const PayoutAccountTypeEnum = builder.enumType('PayoutAccountType', {
  description: 'Where fiat is paid to.',
  values: {
    MOBILE_MONEY: {
      description: "An account with a mobile operator; `mobile-money` in the provider's words.",
    },
    BANK: { description: "A bank account; `bank` in the provider's words." },
  },
});

export const SessionReviewDecisionEnum = builder.enumType('SessionReviewDecision', {
  description: 'What an operator decides about a cash-out under review.',
  values: {
    RETRY: { description: 'Go on from where it stood: sign again, or ask the provider again.' },
    CONFIRM: { description: 'Release the tokens in custody to the treasury.' },
    REFUND: { description: 'Give the tokens in custody back to the depositor.' },
    ACCEPT: { description: 'Leave it as the network shows it: released, given back, or never deposited.' },
  },
});

const PayoutAccountRef = builder.objectRef<CashOut>('PayoutAccount').implement({
  description: 'Where the fiat goes: as much of it as is ever shown.',
  fields: (t) => ({
    type: t.expose('payoutAccountType', { type: PayoutAccountTypeEnum, description: 'What kind it is.' }),
    maskedAccountNumber: t.exposeString('maskedAccountNumber', {
      description: 'The last characters of the account number, such as ••••4321.',
    }),
  }),
});

const ProviderStatusRef = builder
  .objectRef<{ status: RampStatus; observedAt: Date }>('ProviderStatusChange')
  .implement({
    description: 'A status that the ramp provider was seen in.',
    fields: (t) => ({
      status: t.expose('status', { type: RampStatusEnum, description: 'What it said.' }),
      observedAt: t.field({
        type: 'UnixTime',
        description: 'When it was asked, in Unix seconds.',
        resolve: ({ observedAt }) => unixSeconds(observedAt),
      }),
    }),
  });

const CashOutReviewRef = builder.objectRef<CashOutReview>('CashOutReview').implement({
  description: 'What no rule could decide, and what became of it.',
  fields: (t) => ({
    reason: t.exposeString('reason', { description: 'Why it was flagged, in words.' }),
    stateBefore: t.expose('stateBefore', {
      type: CashOutStateEnum,
      description: 'Where the cash-out stood when it was flagged.',
    }),
    decision: t.expose('decision', {
      type: SessionReviewDecisionEnum,
      nullable: true,
      description: 'What an operator decided; null while it is open, or when the network decided by itself.',
    }),
    decidedBy: t.exposeString('decidedBy', {
      nullable: true,
      description: "The subject of the operator's token; null without a decision.",
    }),
    note: t.exposeString('note', { nullable: true, description: "The operator's reason." }),
    openedAt: t.field({
      type: 'UnixTime',
      description: 'When it was flagged, in Unix seconds.',
      resolve: ({ openedAt }) => unixSeconds(openedAt),
    }),
    closedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When it was over, in Unix seconds; null while it is open.',
      resolve: ({ closedAt }) => (closedAt === null ? null : unixSeconds(closedAt)),
    }),
  }),
});

export const CashOutSessionRef = builder.objectRef<CashOut>('CashOutSession');

export function maySeeCashOut(caller: Caller | null, session: CashOut): boolean {
  return maySeeFarmer(caller, session.farmerId) || maySeeFarmer(caller, session.requestedBy);
}

builder.node(CashOutSessionRef, {
  description: "A cash-out. Seen by its farmer's and operators' tokens.",
  id: { resolve: ({ id }) => id },
  loadOne: async (id: string, { caller, dependencies }) => {
    const found = await findCashOut(dependencies, id);
    return found !== null && maySeeCashOut(caller, found) ? found : null;
  },
  fields: (t) => ({
    state: t.expose('state', { type: CashOutStateEnum, description: 'How far it is.' }),
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
    farmerId: t.exposeString('farmerId', { nullable: true, description: 'Whose receipt it is.' }),
    requestedBy: t.exposeString('requestedBy', { description: "The subject of the asker's token." }),
    countryCode: t.exposeString('countryCode', { description: 'Of the payout account: ISO 3166-1 alpha-2.' }),
    payoutAccount: t.field({
      type: PayoutAccountRef,
      description: 'Where the fiat goes, masked.',
      resolve: (session) => session,
    }),
    depositorAddress: t.exposeString('depositorAddress', {
      description: 'Whose tokens are deposited, and where a refund goes.',
    }),
    signUntil: t.field({
      type: 'UnixTime',
      nullable: true,
      description:
        "Until when the holder's signed deposit is waited for, in Unix seconds; null when custody deposits.",
      resolve: ({ signUntil }) => (signUntil === null ? null : unixSeconds(signUntil)),
    }),
    fiatCurrency: t.exposeString('fiatCurrency', { description: 'ISO 4217.' }),
    fiatAmount: t.expose('fiatAmount', {
      type: 'Decimal',
      description: 'What is paid out, after the fee, by the frozen quote.',
    }),
    feeFiat: t.expose('feeFiat', { type: 'Decimal', description: 'The fee, by the frozen quote.' }),
    feeBps: t.exposeInt('feeBps', { description: 'The fee in basis points, by the frozen quote.' }),
    exchangeRate: t.expose('exchangeRate', {
      type: 'Decimal',
      description: 'Tokens (kilograms) per one unit of the currency, by the frozen quote.',
    }),
    quoteExpiresAt: t.field({
      type: 'UnixTime',
      description: 'Until when the session had to be opened, in Unix seconds.',
      resolve: ({ quoteExpiresAt }) => unixSeconds(quoteExpiresAt),
    }),
    providerStatus: t.expose('providerStatus', {
      type: RampStatusEnum,
      nullable: true,
      description: 'What the provider said last; null until it was asked.',
    }),
    isExposed: t.boolean({
      description: 'Whether the provider has paid while the tokens are not in custody.',
      resolve: isExposed,
    }),
    depositTxHash: t.exposeString('depositTxHash', {
      nullable: true,
      description: 'The hash of the deposit into custody; null until it landed.',
    }),
    resolutionTxHash: t.exposeString('resolutionTxHash', {
      nullable: true,
      description: 'The hash of the release to the treasury or back; null until it landed.',
    }),
    refusalMessage: t.exposeString('refusalMessage', {
      nullable: true,
      description: 'Why it was refused, or the last deposit that a holder signed, in words; null otherwise.',
    }),
    providerHistory: t.field({
      type: [ProviderStatusRef],
      description: 'What the provider said, oldest first.',
      resolve: ({ id }, _args, { dependencies }) => readProviderStatuses(dependencies, id),
    }),
    networkHistory: t.field({
      type: [NetworkTransactionRef],
      description: 'Every transaction that was signed for it, oldest first.',
      resolve: ({ id }, _args, { dependencies }) => readTransactions(dependencies, id),
    }),
    reviews: t.field({
      type: [CashOutReviewRef],
      description: "What was flagged for an operator, oldest first. Empty to others than operators' tokens.",
      resolve: ({ id }, _args, { caller, dependencies }) =>
        isOperator(caller) ? readReviews(dependencies, id) : [],
    }),
    createdAt: t.field({
      type: 'UnixTime',
      description: 'When it was asked for, in Unix seconds.',
      resolve: ({ createdAt }) => unixSeconds(createdAt),
    }),
    closedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When it became SETTLED, REFUNDED or REFUSED, in Unix seconds; null before.',
      resolve: ({ closedAt }) => (closedAt === null ? null : unixSeconds(closedAt)),
    }),
  }),
});

builder.queryField('cashOutSession', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      "A cash-out by its id: how to ask again what became of it. NOT_FOUND for another farmer's.",
    ),
    type: CashOutSessionRef,
    args: {
      id: t.arg.globalID({
        for: CashOutSessionRef,
        required: true,
        description: 'The `id` of the session.',
      }),
    },
    resolve: async (_root, { id }, { caller, dependencies }) => {
      const found = await findCashOut(dependencies, id.id);
      if (found === null || !maySeeCashOut(caller, found)) throw notFound('cash-out session');
      return found;
    },
  }),
);
