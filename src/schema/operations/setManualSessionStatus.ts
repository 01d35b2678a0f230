/**
 * setManualSessionStatus: the person who pays out reports the status of a payout.
 */
import type { RampSession } from '../../ramp/port.ts';
import { setManualSessionStatus } from '../../resolvers/operations/setManualSessionStatus.ts';
import { forRoles } from '../core/access.ts';
import { subjectOf } from '../core/caller.ts';
import { RampStatusEnum } from '../warehouse/offRampSession.ts';
import { builder } from '../core/builder.ts';
import { sessionId } from '../core/text.ts';

const SetManualSessionStatusInput = builder.inputType('SetManualSessionStatusInput', {
  description: 'A payout of the manual provider, and its new status.',
  fields: (t) => ({
    sessionId: t.string({
      required: true,
      validate: { schema: sessionId },
      description: "The provider's id: `sessionId` of the off-ramp session.",
    }),
    status: t.field({ type: RampStatusEnum, required: true, description: 'The new status of the payout.' }),
  }),
});

const SetManualSessionStatusPayload = builder
  .objectRef<RampSession>('SetManualSessionStatusPayload')
  .implement({
    description: 'The session as now stored at the manual provider.',
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
        'Errors: NOT_FOUND, CONFLICT when another provider is configured.',
    ),
    type: SetManualSessionStatusPayload,
    nullable: true,
    args: {
      input: t.arg({ type: SetManualSessionStatusInput, required: true, description: 'What to set.' }),
    },
    recordedInput: { subjects: ['sessionId'], hidden: ['status'] },
    safeWithoutKey: 'the status is what it is set to',
    resolve: (_root, { input }, { caller, dependencies }) =>
      setManualSessionStatus(dependencies, subjectOf(caller), input),
  }),
);
