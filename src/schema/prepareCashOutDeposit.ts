/**
 * prepareCashOutDeposit: what a holder signs to cash out receipt tokens of their own.
 */
import { prepareCashOutDeposit } from '../resolvers/prepareCashOutDeposit.ts';
import type { PreparedCashOut } from '../resolvers/prepareCashOutDeposit.ts';
import { forRoles } from './access.ts';
import { isOperator, subjectOf } from './caller.ts';
import { CashOutSessionRef } from './cashOutSession.ts';
import { HolderActRef } from './holderAct.ts';
import { cashOutFields } from './cashOutFields.ts';
import { IDEMPOTENCY_KEY } from './idempotency.ts';
import { payoutAccountOf } from './payoutAccount.ts';
import { builder } from './platform.ts';
import { address, idempotencyKey } from './text.ts';

const PrepareCashOutDepositInput = builder.inputType('PrepareCashOutDepositInput', {
  description: 'What a holder cashes out of their own, and where to.',
  fields: (t) => ({
    ...cashOutFields(t),
    holder: t.string({
      required: true,
      validate: { schema: address },
      description: 'The address that holds the tokens, whose key signs, and where a refund goes.',
    }),
    idempotencyKey: t.string({
      required: true,
      validate: { schema: idempotencyKey },
      description: `${IDEMPOTENCY_KEY} The answer is the same cash-out, with what is to be signed for it by now.`,
    }),
  }),
});

const PrepareCashOutDepositPayload = builder
  .objectRef<PreparedCashOut>('PrepareCashOutDepositPayload')
  .implement({
    description: 'The cash-out, and what to sign for it.',
    fields: (t) => ({
      session: t.expose('session', {
        type: CashOutSessionRef,
        description:
          'The cash-out, with its frozen quote: AWAITING_SIGNATURE until `signUntil`, or OPENING still; or further.',
      }),
      act: t.expose('act', {
        type: HolderActRef,
        nullable: true,
        description:
          'What to sign now, when it is PREPARED: give it back with `submitSigned`. An APPROVAL comes before the DEPOSIT ' +
          'where the network needs one: send the same request again when the approval has LANDED. SUBMITTED is on its ' +
          'way. Null when there is nothing to sign: the cash-out is not open yet, or is further.',
      }),
    }),
  });

builder.mutationField('prepareCashOutDeposit', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      "Cashes out kilograms of a farmer's own receipt (of any receipt, for operators) that lie at an address of their " +
        "own: freezes a quote, opens a session at the ramp provider, and answers with the deposit that the holder's " +
        'wallet is to sign. Send it again with the same key for what is to be signed next, or for a fresh transaction ' +
        'in place of one whose time is over. Without a deposit by `signUntil` the session is closed, and what is ' +
        'deposited after that is given back. Errors: NOT_FOUND, BAD_USER_INPUT, RECEIPT_EXPIRED, CONFLICT (no ' +
        'settlement contract, the receipt is not active, too many unsigned, or the time is over), INSUFFICIENT_BALANCE ' +
        '(the holder has too little), RAMP_REJECTED, RAMP_UNAVAILABLE, LEDGER_REJECTED, IDEMPOTENCY_CONFLICT.',
    ),
    type: PrepareCashOutDepositPayload,
    args: {
      input: t.arg({ type: PrepareCashOutDepositInput, required: true, description: 'What goes where.' }),
    },
    resolve: (_root, { input }, { caller, dependencies }) =>
      prepareCashOutDeposit(
        dependencies,
        { subject: subjectOf(caller), isOperator: isOperator(caller) },
        { ...input, payoutAccount: payoutAccountOf(input.payoutAccount) },
      ),
  }),
);
