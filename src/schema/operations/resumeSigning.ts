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
import { DECISION_REASON } from './decisionReason.ts';

const ResumeSigningInput = builder.inputType('ResumeSigningInput', {
  description: 'Why it is safe to continue. CONFLICT when signing is not halted.',
  fields: (t) => ({
    reason: t.string(DECISION_REASON),
  }),
});

interface Answer {
  haltedBecause: string;
  approval: ApprovalRequest | null;
}

const ResumeSigningPayload = builder.objectRef<Answer>('ResumeSigningPayload').implement({
  description: 'The halt that was ended, or that lasts while its end awaits approval.',
  fields: (t) => ({
    haltedBecause: t.exposeString('haltedBecause', { description: 'Why signing had stopped.' }),
    approvalRequest: t.expose('approval', APPROVAL),
  }),
});

builder.mutationField('resumeSigning', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Signs transactions again after signing stopped because custody’s key was used elsewhere, the database is an old ' +
        'copy, or the network was rolled back. Signing resumes without action once a reconciliation proves that books and network agree, so this mutation is ' +
        'for when they never will. What was unsigned stays under review: decide each with `resolveSubmissionReview`. May need approval (`approvalRequest`). Errors: CONFLICT ' +
        '(not halted, halted for another reason meanwhile, or transactions that had landed are undone), LEDGER_UNAVAILABLE.',
    ),
    type: ResumeSigningPayload,
    nullable: true,
    args: { input: t.arg({ type: ResumeSigningInput, required: true, description: 'The decision.' }) },
    recordedInput: { hidden: ['reason'] },
    safeWithoutKey: 'signing that goes on is not resumed again',
    resolve: async (_root, { input }, { caller, dependencies }): Promise<Answer> => {
      const operation = { operation: 'resumeSigning', input } as const;
      const approval = await requestApproval(dependencies, requireCaller(caller), operation);
      if (approval) return { haltedBecause: approval.basis, approval };
      return { ...(await resumeSigning(dependencies, subjectOf(caller), input)), approval };
    },
  }),
);
