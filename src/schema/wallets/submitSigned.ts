/**
 * submitSigned: takes a holder's signed act and sends it to the network.
 */
import { submitSigned } from '../../resolvers/wallets/submitSigned.ts';
import { forRoles } from '../core/access.ts';
import { findVisibleAct, HolderActRef } from './holderAct.ts';
import { notVisible } from '../../lib/notFound.ts';
import { builder } from '../core/builder.ts';
import { inputOf, payloadOf } from '../core/inputs.ts';
import { signedTransaction } from '../core/text.ts';

const SubmitSignedInput = builder.inputType('SubmitSignedInput', {
  description:
    'A signed act. No idempotency key is needed: the same signed transaction returns the same result and is sent once.',
  fields: (t) => ({
    holderActId: t.globalID({
      for: HolderActRef,
      required: true,
      description: 'The `id` of the prepared act.',
    }),
    signed: t.string({
      required: true,
      validate: { schema: signedTransaction },
      description:
        "The act's `unsigned` transaction as signed by the wallet, in the format of the network. At most 32768 characters.",
    }),
  }),
});

builder.mutationField('submitSigned', (t) =>
  t.field({
    ...forRoles(
      ['buyer', 'farmer', 'operator'],
      'Checks that a transaction signed by a wallet is exactly the prepared act, signed by its holder, and sends ' +
        'it. Waits for the network up to a limit. The same signed transaction returns the same result again. ' +
        'Another transaction for the same act is a CONFLICT while the first can still land, unless it replaces the ' +
        'first: the same act with the same nonce (sequence), as wallets send to raise a fee. Errors: NOT_FOUND, ' +
        "BAD_USER_INPUT (another act, or not the holder's signature), CONFLICT (also when the deposit is no longer " +
        'awaited), LEDGER_REFUSED (refused, or too late: prepare another act), LEDGER_UNAVAILABLE.',
    ),
    type: payloadOf(
      'SubmitSignedPayload',
      'The act in the state that it had reached when the response was sent. Processing continues in the background.',
      { holderAct: { type: HolderActRef, description: 'The act: LANDED, or SUBMITTED or NEEDS_REVIEW.' } },
    ),
    args: inputOf(SubmitSignedInput, 'The signed act.'),
    recordedInput: { targets: ['holderActId'], hidden: ['signed'] },
    safeWithoutKey: 'a signed transaction lands once',
    resolve: async (_root, { input }, context) => {
      const act = await findVisibleAct(input.holderActId.id, context);
      if (act === null) throw notVisible('act', 'input.holderActId');
      return submitSigned(context.dependencies, act, input.signed);
    },
  }),
);
