/**
 * resumeSigning: an operator ends a halt of signing.
 */
import { resumeSigning } from '../../resolvers/operations/resumeSigning.ts';
import { forRoles } from '../core/access.ts';
import { subjectOf } from '../core/caller.ts';
import { builder } from '../core/builder.ts';
import { reason } from '../core/text.ts';

const ResumeSigningInput = builder.inputType('ResumeSigningInput', {
  description: 'Why it is safe to continue. CONFLICT when signing is not halted.',
  fields: (t) => ({
    reason: t.string({
      required: true,
      validate: { schema: reason },
      description: 'The reason, kept with the decision: 1 to 512 bytes of UTF-8.',
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
      'Signs transactions again after signing stopped because custody’s key was used elsewhere, the database is an old ' +
        'copy, or the network was rolled back. Signing resumes without action once a reconciliation proves that books and network agree, so this mutation is ' +
        'for when they never will. What was unsigned stays under review: decide each with `resolveReview`. Errors: CONFLICT ' +
        '(not halted, or transactions that had landed are undone), LEDGER_UNAVAILABLE.',
    ),
    type: ResumeSigningPayload,
    nullable: true,
    args: { input: t.arg({ type: ResumeSigningInput, required: true, description: 'The decision.' }) },
    recordedInput: { hidden: ['reason'] },
    safeWithoutKey: 'signing that goes on is not resumed again',
    resolve: (_root, { input }, { caller, dependencies }) =>
      resumeSigning(dependencies, subjectOf(caller), input),
  }),
);
