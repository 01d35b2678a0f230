/**
 * SubmissionDecision: an operator's decision about a submission under review.
 */
import type { SubmissionReviewDecision } from '../../resolvers/operations/resolveSubmissionReview.ts';
import { readDecisions, type OperatorDecision } from '../../resolvers/operations/operatorDecisions.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import { moment } from '../core/time.ts';

export const SubmissionReviewDecisionEnum = builder.enumType('SubmissionReviewDecision', {
  description: 'What an operator decides about a submission under review.',
  values: {
    RESUME: {
      description:
        'Check the network again and continue; what is unsigned or dead is signed again. CONFLICT when the network shows ' +
        'that the call was already made, or while signing is halted.',
    },
    ADOPT: {
      description:
        'End it as succeeded with what the network shows (`Submission.foundOnNetwork`): a transaction that this platform ' +
        'does not know made the call. CONFLICT when the network shows nothing, or something else.',
    },
    GIVE_UP: {
      description:
        'End it as refused and return what was reserved. CONFLICT while a signed transaction can still land, or when the ' +
        'network shows that the call was made. A mint stays NEEDS_REVIEW, because its token is deployed already.',
    },
  },
});

export const SubmissionDecisionRef = builder.objectRef<OperatorDecision>('SubmissionDecision').implement({
  description: 'What an operator decided about a submission under review.',
  fields: (t) => ({
    decision: t.field({
      type: SubmissionReviewDecisionEnum,
      description: 'The decision.',
      // The end of a halt belongs to no submission.
      resolve: ({ decision }) => decision as SubmissionReviewDecision,
    }),
    decidedBy: t.exposeString('decidedBy', { description: "The subject of the operator's token." }),
    reason: t.exposeString('reason', { description: "The operator's reason." }),
    decidedAt: t.expose('decidedAt', moment('When it was decided')),
  }),
});

/** A submission's decisions, oldest first. */
export const decisionsOf = createBatch(readDecisions);
