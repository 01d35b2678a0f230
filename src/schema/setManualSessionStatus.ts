/**
 * setManualSessionStatus: what a person who pays out says of a payout.
 */
import type { RampSession } from '../ramp/port.ts';
import { setManualSessionStatus } from '../resolvers/setManualSessionStatus.ts';
import { forRoles } from './access.ts';
import { subjectOf } from './caller.ts';
import { RampStatusEnum } from './cashOutSession.ts';
import { builder } from './platform.ts';
import { sessionId } from './text.ts';

const SetManualSessionStatusInput = builder.inputType('SetManualSessionStatusInput', {
  description: 'A payout of the manual provider, and what became of it.',
  fields: (t) => ({
    sessionId: t.string({
      required: true,
      validate: { schema: sessionId },
      description: "The provider's id of the session: `sessionId` of the cash-out.",
    }),
    status: t.field({ type: RampStatusEnum, required: true, description: 'What became of the payout.' }),
  }),
});

const SetManualSessionStatusPayload = builder
  .objectRef<RampSession>('SetManualSessionStatusPayload')
  .implement({
    description: 'The session as the manual provider has it now.',
    fields: (t) => ({
      sessionId: t.exposeString('sessionId', { description: "The provider's id of the session." }),
      status: t.expose('status', { type: RampStatusEnum, description: 'Its status.' }),
    }),
  });

builder.mutationField('setManualSessionStatus', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Sets the status of a session at the manual provider, which then calls the payout webhook as any provider would. ' +
        'Errors: NOT_FOUND, CONFLICT when another provider pays out.',
    ),
    type: SetManualSessionStatusPayload,
    args: {
      input: t.arg({ type: SetManualSessionStatusInput, required: true, description: 'What to set.' }),
    },
    resolve: (_root, { input }, { caller, dependencies }) =>
      setManualSessionStatus(dependencies, subjectOf(caller), input),
  }),
);
