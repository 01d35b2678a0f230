/**
 * cashOut: receipt tokens into custody, fiat to the farmer.
 */
import { cashOut } from '../resolvers/cashOut.ts';
import type { CashOut } from '../resolvers/findCashOut.ts';
import { readTransactions } from '../resolvers/findRetirement.ts';
import { forRoles } from './access.ts';
import { isOperator, subjectOf } from './caller.ts';
import { CashOutSessionRef } from './cashOutSession.ts';
import { cashOutFields } from './cashOutFields.ts';
import { IDEMPOTENCY_KEY } from './idempotency.ts';
import { hashOf } from './networkTransaction.ts';
import { payoutAccountOf } from './payoutAccount.ts';
import { builder } from './platform.ts';
import { idempotencyKey } from './text.ts';

const CashOutInput = builder.inputType('CashOutInput', {
  description: 'What a farmer cashes out, and where to.',
  fields: (t) => ({
    ...cashOutFields(t),
    idempotencyKey: t.string({
      required: true,
      validate: { schema: idempotencyKey },
      description: IDEMPOTENCY_KEY,
    }),
  }),
});

const CashOutPayload = builder.objectRef<CashOut>('CashOutPayload').implement({
  description: 'The cash-out, in the state reached when the answer was given. It goes on by itself.',
  fields: (t) => ({
    sessionId: t.exposeString('providerSessionId', {
      nullable: true,
      description: "The ramp provider's id of the session; null while it is not open there.",
    }),
    txHash: t.string({
      nullable: true,
      description: 'The hash of the deposit into custody; null while none is signed.',
      resolve: async ({ id, depositTxHash }, _args, { dependencies }) =>
        depositTxHash ?? hashOf(await readTransactions(dependencies, id), 'initiateOffRamp'),
    }),
    session: t.field({
      type: CashOutSessionRef,
      description: 'The cash-out, with its frozen quote.',
      resolve: (session) => session,
    }),
  }),
});

builder.mutationField('cashOut', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      "Cashes out kilograms of a farmer's own receipt (of any receipt, for operators) that the platform's custody signer " +
        'holds; for receipts at an address of their own, see prepareCashOutDeposit. Freezes a quote, opens a session ' +
        'at the ramp provider and puts the tokens into custody of the settlement contract. Waits for that up to a limit; ' +
        'the payout itself comes later. Errors: NOT_FOUND, RECEIPT_EXPIRED, CONFLICT (no settlement contract, or the ' +
        'receipt is not active), INSUFFICIENT_BALANCE (custody holds too little), RAMP_REJECTED, RAMP_UNAVAILABLE, ' +
        'LEDGER_REJECTED, IDEMPOTENCY_CONFLICT.',
    ),
    type: CashOutPayload,
    args: { input: t.arg({ type: CashOutInput, required: true, description: 'What goes where.' }) },
    resolve: (_root, { input }, { caller, dependencies }) =>
      cashOut(
        dependencies,
        { subject: subjectOf(caller), isOperator: isOperator(caller) },
        { ...input, payoutAccount: payoutAccountOf(input.payoutAccount) },
      ),
  }),
);
