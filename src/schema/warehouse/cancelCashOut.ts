/**
 * cancelCashOut: ends an off-ramp session that is not paid.
 */
import { cancelCashOut } from '../../resolvers/warehouse/offRamp/cancelCashOut.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { IDEMPOTENCY_KEY, inputOf, payloadOf } from '../core/inputs.ts';
import { actorOf } from '../core/caller.ts';
import { OffRampSessionRef } from './offRampSession.ts';

const CancelCashOutInput = builder.inputType('CancelCashOutInput', {
  description: 'The off-ramp session to cancel.',
  fields: (t) => ({
    offRampSessionId: t.globalID({
      for: OffRampSessionRef,
      required: true,
      description: 'The `id` of the session, which exists before the session is open at the provider.',
    }),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

builder.mutationField('cancelCashOut', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      'Cancels an unpaid off-ramp session of the caller (any session, for operators): asks the provider not to ' +
        'pay, and once the provider agrees, ends the session or refunds the tokens from the settlement contract. A ' +
        'provider that is already paying is asked again until it agrees or has paid. Waits for its answer up to a ' +
        'limit. Errors: NOT_FOUND, CONFLICT (paid, ended, under review, or at a provider that is not configured), ' +
        'IDEMPOTENCY_CONFLICT.',
    ),
    type: payloadOf(
      'CancelCashOutPayload',
      'The off-ramp session in the state that it had reached when the response was sent. Processing ' +
        'continues in the background.',
      {
        offRampSession: {
          type: OffRampSessionRef,
          description:
            'The off-ramp session. It is cancelled when it is CLOSED (nothing was deposited), REFUNDING or REFUNDED, ' +
            'and CONFIRMING or SETTLED when the payout was faster.',
        },
      },
    ),
    args: inputOf(CancelCashOutInput, 'The session to cancel.'),
    recordedInput: { targets: ['offRampSessionId'], shown: ['idempotencyKey'] },
    resolve: (_root, { input }, { caller, dependencies }) =>
      cancelCashOut(dependencies, actorOf(caller), { ...input, offRampSessionId: input.offRampSessionId.id }),
  }),
);
