/**
 * submitSigned: a holder's signed act comes back, and goes to the network.
 */
import type { HolderAct } from '../resolvers/findHolderAct.ts';
import { submitSigned } from '../resolvers/submitSigned.ts';
import { forRoles } from './access.ts';
import { findVisibleAct, HolderActRef } from './holderAct.ts';
import { notFound } from './notFound.ts';
import { builder } from './platform.ts';
import { signedTransaction } from './text.ts';

const SubmitSignedInput = builder.inputType('SubmitSignedInput', {
  description:
    'A signed act. It needs no idempotency key: the same signed transaction gives the same answer and is sent once.',
  fields: (t) => ({
    id: t.globalID({
      for: HolderActRef,
      required: true,
      description: 'The `id` of the act that was prepared.',
    }),
    signed: t.string({
      required: true,
      validate: { schema: signedTransaction },
      description:
        "What the wallet made of the act's `unsigned`, as its format says. At most 32768 characters.",
    }),
  }),
});

const SubmitSignedPayload = builder.objectRef<HolderAct>('SubmitSignedPayload').implement({
  description: 'The act, in the state reached when the answer was given. It goes on by itself.',
  fields: (t) => ({
    act: t.field({
      type: HolderActRef,
      description: 'The act: LANDED, or SUBMITTED or NEEDS_REVIEW.',
      resolve: (act) => act,
    }),
  }),
});

builder.mutationField('submitSigned', (t) =>
  t.field({
    ...forRoles(
      ['buyer', 'farmer', 'operator'],
      'Takes back what a wallet signed, checks that it is that very act and nothing else, signed by its holder, and sends ' +
        'it. Waits for the network up to a limit. The same signed transaction again gets the same answer. Another one of ' +
        'the same act is a CONFLICT while the first can still land, unless it replaces it: the same act with the same ' +
        'nonce (sequence), as wallets do to raise a fee. Errors: NOT_FOUND, BAD_USER_INPUT (another act, or not the ' +
        "holder's signature), CONFLICT (also when nobody waits for the deposit any more), LEDGER_REJECTED (refused, or " +
        'too late: prepare it anew).',
    ),
    type: SubmitSignedPayload,
    args: { input: t.arg({ type: SubmitSignedInput, required: true, description: 'The signed act.' }) },
    resolve: async (_root, { input }, context) => {
      const act = await findVisibleAct(context, input.id.id);
      if (act === null) throw notFound('act');
      return submitSigned(context.dependencies, act, input.signed);
    },
  }),
);
