/**
 * refuseApproval: ends a request for approval without running its operation.
 */
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { refuseApproval } from '../../resolvers/approvals/decideApproval.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { inputOf } from '../core/inputs.ts';
import { requireCaller } from '../core/caller.ts';
import { APPROVAL, ApprovalRequestRef, maySeeApproval } from './approvalRequest.ts';

const RefuseApprovalInput = builder.inputType('RefuseApprovalInput', {
  description: 'The request to refuse or withdraw.',
  fields: (t) => ({
    approvalRequestId: t.globalID({
      for: ApprovalRequestRef,
      required: true,
      description: 'The `id` of a request for approval in state AWAITING.',
    }),
  }),
});

const RefuseApprovalPayload = builder
  .objectRef<{ approval: ApprovalRequest }>('RefuseApprovalPayload')
  .implement({
    description: 'The refused or withdrawn request.',
    fields: (t) => ({
      approvalRequest: t.expose('approval', {
        ...APPROVAL,
        nullable: false,
        description: 'The request for approval.',
      }),
    }),
  });

builder.mutationField('refuseApproval', (t) =>
  t.field({
    ...forRoles(
      ['developer', 'warehouse', 'operator'],
      "Refuses another person's request for approval, or withdraws the caller's own request. Repeating the " +
        'decision by the same person changes nothing. Errors: NOT_FOUND, CONFLICT (the request is decided or ' +
        'expired).',
    ),
    type: RefuseApprovalPayload,
    args: inputOf(RefuseApprovalInput, 'The request to refuse or withdraw.'),
    recordedInput: { targets: ['approvalRequestId'] },
    safeWithoutKey: 'a request for approval is decided once',
    resolve: async (_root, { input }, { caller, dependencies }) => ({
      approval: await refuseApproval(
        dependencies,
        requireCaller(caller),
        input.approvalRequestId.id,
        (request) => maySeeApproval(caller, request),
      ),
    }),
  }),
);
