/**
 * grantApproval: a second person approves an operation, which then runs.
 */
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { grantApproval } from '../../resolvers/approvals/decideApproval.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { inputOf } from '../core/inputs.ts';
import { requireCaller } from '../core/caller.ts';
import { APPROVAL, ApprovalRequestRef } from './approvalRequest.ts';
import { runApproved } from './runApproved.ts';

const GrantApprovalInput = builder.inputType('GrantApprovalInput', {
  description: 'The request to approve.',
  fields: (t) => ({
    approvalRequestId: t.globalID({
      for: ApprovalRequestRef,
      required: true,
      description: 'The `id` of a request for approval in state AWAITING.',
    }),
  }),
});

const GrantApprovalPayload = builder
  .objectRef<{ approval: ApprovalRequest }>('GrantApprovalPayload')
  .implement({
    description:
      'The approved request. Its `target` shows the object in the state that the operation reached.',
    fields: (t) => ({
      approvalRequest: t.expose('approval', {
        ...APPROVAL,
        nullable: false,
        description: 'The request for approval.',
      }),
    }),
  });

builder.mutationField('grantApproval', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Approves an operation that another person requested, and runs it exactly once. Waits as long as the ' +
        'approved mutation does and returns its errors. While the request stays AWAITING, nothing was done. ' +
        'Repeating the approval by the same person changes nothing. Errors: NOT_FOUND, FORBIDDEN (the requester, or ' +
        'an API key created by the same administrator), CONFLICT (the request is decided or expired, or its target ' +
        'has changed), and the errors of the operation.',
    ),
    type: GrantApprovalPayload,
    args: inputOf(GrantApprovalInput, 'The request to approve.'),
    recordedInput: { targets: ['approvalRequestId'] },
    safeWithoutKey: 'a request for approval is decided once',
    resolve: async (_root, { input }, { caller, dependencies }) => ({
      approval: await grantApproval(
        dependencies,
        requireCaller(caller),
        input.approvalRequestId.id,
        (request, grant) => runApproved(dependencies, request, grant),
      ),
    }),
  }),
);
