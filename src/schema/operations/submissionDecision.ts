/**
 * SubmissionDecision: an operator's decision about a submission under review.
 */
import type { SubmissionReviewDecision } from '../../resolvers/operations/resolveSubmissionReview.ts';
import { readDecisions, type OperatorDecision } from '../../resolvers/operations/operatorDecisions.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import { moment } from '../core/time.ts';

export const SubmissionReviewDecisionEnum = builder.enumType('SubmissionReviewDecision', {
  description: 'The decision of an operator about a submission under review.',
  values: {
    RESUME: {
      description:
        'Checks the network again and continues the submission; unsigned or dead transactions are signed again. ' +
        'CONFLICT when the network shows that the call was already made, or while signing is halted.',
    },
    ADOPT: {
      description:
        'Ends the submission as succeeded, with the outcome that the network shows (`Submission.foundOnNetwork`): a ' +
        'transaction that this platform does not know made the call. CONFLICT when the network shows nothing, or ' +
        'another call.',
    },
    GIVE_UP: {
      description:
        'Ends the submission as refused and returns reserved amounts. CONFLICT while a signed transaction can still ' +
        'land, or when the network shows that the call was made. A mint stays NEEDS_REVIEW, because its token is ' +
        'already deployed.',
    },
  },
});

export const SubmissionDecisionRef = builder.objectRef<OperatorDecision>('SubmissionDecision').implement({
  description: 'The decision of an operator about a submission under review.',
  fields: (t) => ({
    decision: t.field({
      type: SubmissionReviewDecisionEnum,
      description: 'The decision.',
      // The end of a halt belongs to no submission.
      resolve: ({ decision }) => decision as SubmissionReviewDecision,
    }),
    decidedBy: t.exposeString('decidedBy', { description: "The subject of the operator's token." }),
    reason: t.exposeString('reason', { description: "The operator's reason." }),
    decidedAt: t.expose('decidedAt', moment('The time of the decision')),
  }),
});

/** A submission's decisions, oldest first. */
export const decisionsOf = createBatch(readDecisions);
