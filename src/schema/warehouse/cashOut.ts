/**
 * cashOut: deposits receipt tokens, for a fiat payout to the farmer.
 */
import type { InputFieldBuilder } from '@pothos/core';
import { PayoutAccountInput, payoutAccountOf } from './payoutAccount.ts';
import { kilograms } from '../core/amounts.ts';
import { type ContractTypes, builder } from '../core/builder.ts';
import { RECEIPT_TOKEN } from '../core/tokenAddress.ts';
import type { Quote } from '../../ramp/port.ts';
import { cashOut, dryRunCashOut } from '../../resolvers/warehouse/offRamp/cashOut.ts';
import type { OffRampSession } from '../../resolvers/warehouse/offRamp/findOffRampSession.ts';
import { forRoles } from '../core/access.ts';
import { actorOf } from '../core/caller.ts';
import { OffRampQuoteRef } from './offRampQuote.ts';
import { OffRampSessionRef } from './offRampSession.ts';
import { hashOf } from '../operations/networkTransaction.ts';
import { DRY_RUN, DRY_RUN_ANSWER, IDEMPOTENCY_KEY, inputOf } from '../core/inputs.ts';

/** The input that every off-ramp session takes, for both depositors. */
export function offRampSessionFields(t: InputFieldBuilder<ContractTypes, 'InputObject'>) {
  return {
    receiptTokenAddress: t.field(RECEIPT_TOKEN),
    tokenAmount: t.field({ ...kilograms('The amount to cash out'), required: true }),
    fiatCurrency: t.field({
      type: 'CurrencyCode',
      required: true,
      description: 'The currency of the payout: ISO 4217, in upper case.',
    }),
    countryCode: t.field({
      type: 'CountryCode',
      required: true,
      description: 'The country of the payout account: ISO 3166-1 alpha-2, in upper case.',
    }),
    payoutAccount: t.field({
      type: PayoutAccountInput,
      required: true,
      description: 'The account to pay out to.',
    }),
  };
}

const CashOutInput = builder.inputType('CashOutInput', {
  description: 'The tokens to cash out, and the payout account.',
  fields: (t) => ({
    ...offRampSessionFields(t),
    dryRun: t.boolean(DRY_RUN),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

interface Answer {
  session: OffRampSession | null;
  dryRun: Quote | null;
}

const CashOutPayload = builder.objectRef<Answer>('CashOutPayload').implement({
  description:
    'The off-ramp session in the state that it had reached when the response was sent, or the result of a dry ' +
    'run. The processing of the session continues in the background.',
  fields: (t) => ({
    sessionId: t.string({
      nullable: true,
      description:
        "The ramp provider's id of the session. Null while the session is not open at the provider, and for a dry run.",
      resolve: ({ session }) => session?.providerSessionId ?? null,
    }),
    txHash: t.string({
      nullable: true,
      description:
        "The hash of the deposit's transaction. Null while no transaction is signed, and for a dry run.",
      resolve: ({ session }, _args, context) =>
        session && (session.depositTxHash ?? hashOf(context, session.id, 'depositOffRamp')),
    }),
    offRampSession: t.expose('session', {
      type: OffRampSessionRef,
      nullable: true,
      description: 'The off-ramp session, with its frozen quote. Null for a dry run.',
    }),
    dryRun: t.expose('dryRun', {
      type: OffRampQuoteRef,
      nullable: true,
      description: `${DRY_RUN_ANSWER} The provider is asked only for a quote.`,
    }),
  }),
});

builder.mutationField('cashOut', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      "Cashes out kilograms of a farmer's own receipt (of any receipt, for operators) that the platform's custody " +
        "signer holds. For receipts at a holder's own address, use `prepareCashOutDeposit`. Freezes a quote, opens " +
        'a session at the ramp provider and deposits the tokens into the settlement contract. Waits for the deposit ' +
        'up to a limit; the payout follows later. Errors: NOT_FOUND, RECEIPT_EXPIRED, RECEIPT_PLEDGED, CONFLICT (no ' +
        'settlement contract, or the receipt is not active), INSUFFICIENT_BALANCE (custody holds too little, or too ' +
        'few kilograms are not paid out yet), RAMP_REFUSED, RAMP_UNAVAILABLE, LEDGER_REFUSED, LEDGER_UNAVAILABLE, ' +
        'IDEMPOTENCY_CONFLICT.',
    ),
    type: CashOutPayload,
    args: inputOf(CashOutInput, 'The receipt, the quantity and the payout account.'),
    recordedInput: {
      targets: ['receiptTokenAddress'],
      shown: ['tokenAmount', 'fiatCurrency', 'countryCode', 'dryRun', 'idempotencyKey'],
      hidden: ['payoutAccount'],
    },
    resolve: async (_root, { input: { dryRun, ...rest } }, { caller, dependencies }): Promise<Answer> => {
      const by = actorOf(caller);
      const input = { ...rest, payoutAccount: payoutAccountOf(rest.payoutAccount) };
      return dryRun
        ? { session: null, dryRun: await dryRunCashOut(dependencies, by, input) }
        : { session: await cashOut(dependencies, by, input), dryRun: null };
    },
  }),
);
