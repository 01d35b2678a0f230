/**
 * resumeSigning: an operator ends a halt of signing.
 */
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { requestApproval } from '../../resolvers/approvals/requestApproval.ts';
import { resumeSigning } from '../../resolvers/operations/resumeSigning.ts';
import { APPROVAL } from '../approvals/approvalRequest.ts';
import { forRoles } from '../core/access.ts';
import { requireCaller, subjectOf } from '../core/caller.ts';
import { builder } from '../core/builder.ts';
import { DECISION_REASON, inputOf } from '../core/inputs.ts';

const ResumeSigningInput = builder.inputType('ResumeSigningInput', {
  description:
    'The reason why it is safe to resume signing. A CONFLICT is returned when signing is not halted.',
  fields: (t) => ({
    signingHaltVersion: t.string({
      required: true,
      description:
        'The `OpenWork.signingHaltVersion` on which the decision is based. CONFLICT when it has changed since: read why ' +
        'signing is halted again, then decide.',
    }),
    reason: t.string(DECISION_REASON),
  }),
});

interface Answer {
  signingHaltedBecause: string;
  approval: ApprovalRequest | null;
}

const ResumeSigningPayload = builder.objectRef<Answer>('ResumeSigningPayload').implement({
  description: 'The halt that was ended, or that continues while its end awaits approval.',
  fields: (t) => ({
    signingHaltedBecause: t.exposeString('signingHaltedBecause', {
      description: 'The reason why signing was halted.',
    }),
    approvalRequest: t.expose('approval', APPROVAL),
  }),
});

builder.mutationField('resumeSigning', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      "Resumes signing after a halt, which happens when custody's key was used elsewhere, the database is an old " +
        'copy, or the network was rolled back. Signing resumes automatically when a reconciliation proves that the ' +
        'books and the network agree; use this mutation when they never will. Unsigned submissions stay under ' +
        'review: decide each with `resolveSubmissionReview`. May need approval (`approvalRequest`). Errors: ' +
        'CONFLICT (signing is not halted, its `signingHaltVersion` has changed, or transactions that had landed are ' +
        'undone), LEDGER_UNAVAILABLE.',
    ),
    type: ResumeSigningPayload,
    args: inputOf(ResumeSigningInput, 'The reason for resuming.'),
    recordedInput: { shown: ['signingHaltVersion'], hidden: ['reason'] },
    safeWithoutKey: 'signing that goes on is not resumed again',
    resolve: async (_root, { input }, { caller, dependencies }): Promise<Answer> => {
      const operation = { operation: 'resumeSigning', input } as const;
      const approval = await requestApproval(dependencies, requireCaller(caller), operation);
      if (approval) return { signingHaltedBecause: approval.basis, approval };
      return { ...(await resumeSigning(dependencies, subjectOf(caller), input)), approval };
    },
  }),
);
