/**
 * resolveReview: an operator decides what no rule could.
 */
import type { Submission } from '../ledger/submission/settle.ts';
import { resolveReview } from '../resolvers/resolveReview.ts';
import { forRoles } from './access.ts';
import { subjectOf } from './caller.ts';
import { builder } from './platform.ts';
import { SubmissionRef } from './submission.ts';
import { reason } from './text.ts';

const ReviewDecisionEnum = builder.enumType('ReviewDecision', {
  description: 'What an operator decides about a submission under review.',
  values: {
    RESUME: {
      description: 'Look at the network again and go on. Always safe: what landed is never sent again.',
    },
    GIVE_UP: {
      description:
        'End it as refused and return what was reserved. CONFLICT while a signed transaction can still land.',
    },
  },
});

const ResolveReviewInput = builder.inputType('ResolveReviewInput', {
  description:
    'A decision, and why. Deciding what is decided already is a CONFLICT, so it can not happen twice.',
  fields: (t) => ({
    submissionId: t.globalID({
      for: SubmissionRef,
      required: true,
      description: 'The `id` of a submission in state NEEDS_REVIEW.',
    }),
    decision: t.field({ type: ReviewDecisionEnum, required: true, description: 'What to do.' }),
    reason: t.string({
      required: true,
      validate: { schema: reason },
      description: 'Why, for the record: 1 to 512 bytes of UTF-8.',
    }),
  }),
});

const ResolveReviewPayload = builder.objectRef<Submission>('ResolveReviewPayload').implement({
  description: 'The submission after the decision.',
  fields: (t) => ({
    submission: t.field({
      type: SubmissionRef,
      description: 'The submission.',
      resolve: (submission) => submission,
    }),
  }),
});

builder.mutationField('resolveReview', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Resolves a submission that needs review. Errors: NOT_FOUND, CONFLICT, LEDGER_UNAVAILABLE.',
    ),
    type: ResolveReviewPayload,
    args: { input: t.arg({ type: ResolveReviewInput, required: true, description: 'The decision.' }) },
    resolve: (_root, { input }, { caller, dependencies }) =>
      resolveReview(dependencies, subjectOf(caller), { ...input, submissionId: input.submissionId.id }),
  }),
);
