/**
 * resumeSigning: an operator ends a halt of signing.
 */
import { resumeSigning } from '../resolvers/resumeSigning.ts';
import { forRoles } from './access.ts';
import { subjectOf } from './caller.ts';
import { builder } from './platform.ts';
import { reason } from './text.ts';

const ResumeSigningInput = builder.inputType('ResumeSigningInput', {
  description: 'Why it is safe to go on. Resuming what goes on already is a CONFLICT.',
  fields: (t) => ({
    reason: t.string({
      required: true,
      validate: { schema: reason },
      description: 'Why, for the record: 1 to 512 bytes of UTF-8.',
    }),
  }),
});

const ResumeSigningPayload = builder.objectRef<{ haltedBecause: string }>('ResumeSigningPayload').implement({
  description: 'The halt that was ended.',
  fields: (t) => ({
    haltedBecause: t.exposeString('haltedBecause', { description: 'Why signing had stopped.' }),
  }),
});

builder.mutationField('resumeSigning', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Signs transactions again after signing stopped because custody’s key was used elsewhere or the database is an ' +
        'old copy. It goes on by itself once books and network agree, so this is for when they never will. Whatever is ' +
        'pending is signed again: first make sure that none of it has landed. Errors: CONFLICT, LEDGER_UNAVAILABLE.',
    ),
    type: ResumeSigningPayload,
    args: { input: t.arg({ type: ResumeSigningInput, required: true, description: 'The decision.' }) },
    resolve: (_root, { input }, { caller, dependencies }) =>
      resumeSigning(dependencies, subjectOf(caller), input),
  }),
);
