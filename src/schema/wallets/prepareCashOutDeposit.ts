/**
 * prepareCashOutDeposit: prepares a deposit for a holder's wallet to sign.
 */
import type { Quote } from '../../ramp/port.ts';
import {
  prepareCashOutDeposit,
  dryRunCashOutDeposit,
  type PreparedCashOut,
} from '../../resolvers/wallets/prepareCashOutDeposit.ts';
import { forRoles } from '../core/access.ts';
import { actorOf } from '../core/caller.ts';
import { OffRampQuoteRef } from '../warehouse/offRampQuote.ts';
import { OffRampSessionRef } from '../warehouse/offRampSession.ts';
import { HolderActRef } from './holderAct.ts';
import { offRampSessionFields } from '../warehouse/cashOut.ts';
import { payoutAccountOf } from '../warehouse/payoutAccount.ts';
import { builder } from '../core/builder.ts';
import { DRY_RUN, DRY_RUN_ANSWER, IDEMPOTENCY_KEY, inputOf } from '../core/inputs.ts';

const PrepareCashOutDepositInput = builder.inputType('PrepareCashOutDepositInput', {
  description: "The holder's tokens to cash out, and the payout account.",
  fields: (t) => ({
    ...offRampSessionFields(t),
    holderAddress: t.field({
      type: 'Address',
      required: true,
      description:
        'The address that holds the tokens, whose key signs the deposit, and to which a refund goes.',
    }),
    dryRun: t.boolean(DRY_RUN),
    idempotencyKey: t.string({
      ...IDEMPOTENCY_KEY,
      description:
        `${IDEMPOTENCY_KEY.description} A repeated request returns the same off-ramp session, with the act that is ` +
        'to be signed for it now.',
    }),
  }),
});

type Answer = (PreparedCashOut & { dryRun: null }) | { session: null; act: null; dryRun: Quote };

const PrepareCashOutDepositPayload = builder.objectRef<Answer>('PrepareCashOutDepositPayload').implement({
  description: 'The off-ramp session and the act to sign for it, or the result of a dry run.',
  fields: (t) => ({
    offRampSession: t.expose('session', {
      type: OffRampSessionRef,
      nullable: true,
      description:
        'The off-ramp session, with its frozen quote: AWAITING_SIGNATURE until `signatureDueAt`, still OPENING, or in a later ' +
        'state. Null for a dry run.',
    }),
    dryRun: t.expose('dryRun', {
      type: OffRampQuoteRef,
      nullable: true,
      description: `${DRY_RUN_ANSWER} The provider is asked only for a quote.`,
    }),
    holderAct: t.expose('act', {
      type: HolderActRef,
      nullable: true,
      description:
        'The act to sign now, when it is PREPARED: return it with `submitSigned`. On networks that need an ' +
        'ALLOWANCE before the DEPOSIT, send the same request again when the allowance has LANDED. A SUBMITTED act ' +
        'is being processed. Null when there is nothing to sign, because the off-ramp session is not open yet or is ' +
        'past its deposit, and for a dry run.',
    }),
  }),
});

builder.mutationField('prepareCashOutDeposit', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      "Cashes out kilograms of a farmer's own receipt (of any receipt, for operators) at the holder's own " +
        "address: freezes a quote, opens a session at the ramp provider, and returns the deposit for the holder's " +
        'wallet to sign. Send the request again with the same key to get the next act to sign, or a new transaction ' +
        'in place of an expired one. Without a deposit by `signatureDueAt` the session is closed, and a later ' +
        'deposit is refunded. Errors: NOT_FOUND, BAD_USER_INPUT (an address that signs for the platform), ' +
        'RECEIPT_EXPIRED, RECEIPT_PLEDGED, CONFLICT (no settlement contract, the receipt is not active, too many ' +
        'unsigned deposits, or too late), INSUFFICIENT_BALANCE (the holder has too little), RAMP_REFUSED, ' +
        'RAMP_UNAVAILABLE, LEDGER_REFUSED, LEDGER_UNAVAILABLE, IDEMPOTENCY_CONFLICT.',
    ),
    type: PrepareCashOutDepositPayload,
    args: inputOf(PrepareCashOutDepositInput, 'The tokens to cash out, and the payout account.'),
    recordedInput: {
      targets: ['receiptTokenAddress', 'holderAddress'],
      shown: ['tokenAmount', 'fiatCurrency', 'countryCode', 'dryRun', 'idempotencyKey'],
      hidden: ['payoutAccount'],
    },
    resolve: async (
      _root,
      { input: { dryRun, holderAddress: holder, ...rest } },
      { caller, dependencies },
    ): Promise<Answer> => {
      const by = actorOf(caller);
      const input = { ...rest, holder, payoutAccount: payoutAccountOf(rest.payoutAccount) };
      return dryRun
        ? { session: null, act: null, dryRun: await dryRunCashOutDeposit(dependencies, by, input) }
        : { ...(await prepareCashOutDeposit(dependencies, by, input)), dryRun: null };
    },
  }),
);
