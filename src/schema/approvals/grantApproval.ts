/**
 * grantApproval: a second person approves an operation, which then runs.
 */
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { grantApproval } from '../../resolvers/approvals/decideApproval.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { requireCaller } from '../core/caller.ts';
import { APPROVAL, ApprovalRequestRef } from './approvalRequest.ts';
import { runApproved } from './runApproved.ts';

const GrantApprovalInput = builder.inputType('GrantApprovalInput', {
  description: 'What to approve.',
  fields: (t) => ({
    approvalRequestId: t.globalID({
      for: ApprovalRequestRef,
      required: true,
      description: 'The `id` of a request in state AWAITING.',
    }),
  }),
});

const GrantApprovalPayload = builder
  .objectRef<{ approval: ApprovalRequest }>('GrantApprovalPayload')
  .implement({
    description: 'The request, approved. What was done is its `target`, in the state reached.',
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
      'Approves an operation that another person asked for, and does it: once, whatever happens meanwhile. Waits as that ' +
        'mutation does, and answers with its errors; while the request stays AWAITING, nothing was done. Repeated by the ' +
        'same person, it changes nothing. Errors: NOT_FOUND, FORBIDDEN (the requester, or an API key made by the same ' +
        'administrator), CONFLICT (decided, expired, or what it is about has changed), and those of the operation.',
    ),
    type: GrantApprovalPayload,
    nullable: true,
    args: { input: t.arg({ type: GrantApprovalInput, required: true, description: 'The request.' }) },
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
