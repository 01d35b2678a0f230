/**
 * resolveSubmissionReview: an operator decides a submission that no rule decides.
 */
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { requestApproval } from '../../resolvers/approvals/requestApproval.ts';
import type { Submission } from '../../ledger/submission/settle.ts';
import { requireSubmission } from '../../resolvers/operations/listSubmissions.ts';
import { resolveSubmissionReview } from '../../resolvers/operations/resolveSubmissionReview.ts';
import { APPROVAL } from '../approvals/approvalRequest.ts';
import { forRoles } from '../core/access.ts';
import { requireCaller, subjectOf } from '../core/caller.ts';
import { builder } from '../core/builder.ts';
import { DECISION_REASON, inputOf, SEEN_REVIEW_VERSION } from '../core/inputs.ts';
import { SubmissionRef, SubmissionReviewDecisionEnum } from './submission.ts';

const ResolveSubmissionReviewInput = builder.inputType('ResolveSubmissionReviewInput', {
  description:
    'A decision and its reason. A second decision is a CONFLICT, so no decision takes effect twice.',
  fields: (t) => ({
    submissionId: t.globalID({
      for: SubmissionRef,
      required: true,
      description: 'The `id` of a submission in state NEEDS_REVIEW.',
    }),
    decision: t.field({
      type: SubmissionReviewDecisionEnum,
      required: true,
      description: 'The decision on the submission.',
    }),
    reviewVersion: t.string(SEEN_REVIEW_VERSION),
    recordIndex: t.int({
      description:
        'The index of the record to adopt, for ADOPT of a retirement. A CONFLICT is returned when another record was found.',
    }),
    reason: t.string(DECISION_REASON),
  }),
});

interface Answer {
  submission: Submission;
  approval: ApprovalRequest | null;
}

const ResolveSubmissionReviewPayload = builder.objectRef<Answer>('ResolveSubmissionReviewPayload').implement({
  description:
    'The submission after the decision, or in its current state while the decision awaits approval.',
  fields: (t) => ({
    submission: t.expose('submission', { type: SubmissionRef, description: 'The submission.' }),
    approvalRequest: t.expose('approval', APPROVAL),
  }),
});

builder.mutationField('resolveSubmissionReview', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Resolves a submission that needs review. May need approval (`approvalRequest`). Errors: NOT_FOUND; CONFLICT ' +
        '(the submission is not under review, its `reviewVersion` has changed, or the decision does not fit the state ' +
        'on the network); LEDGER_UNAVAILABLE.',
    ),
    type: ResolveSubmissionReviewPayload,
    args: inputOf(ResolveSubmissionReviewInput, 'The decision and its reason.'),
    recordedInput: {
      targets: ['submissionId'],
      shown: ['decision', 'reviewVersion'],
      hidden: ['recordIndex', 'reason'],
    },
    safeWithoutKey: 'deciding what is decided is a CONFLICT',
    resolve: async (_root, { input }, { caller, dependencies }): Promise<Answer> => {
      const asked = { ...input, submissionId: input.submissionId.id };
      const operation = { operation: 'resolveSubmissionReview', input: asked } as const;
      const approval = await requestApproval(dependencies, requireCaller(caller), operation);
      const submission = approval
        ? await requireSubmission(dependencies, asked.submissionId)
        : await resolveSubmissionReview(dependencies, subjectOf(caller), asked);
      return { submission, approval };
    },
  }),
);
