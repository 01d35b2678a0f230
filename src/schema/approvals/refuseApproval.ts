/**
 * refuseApproval: ends a request for approval without running its operation.
 */
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { refuseApproval } from '../../resolvers/approvals/decideApproval.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { requireCaller } from '../core/caller.ts';
import { APPROVAL, ApprovalRequestRef, maySeeApproval } from './approvalRequest.ts';

const RefuseApprovalInput = builder.inputType('RefuseApprovalInput', {
  description: 'What to refuse.',
  fields: (t) => ({
    approvalRequestId: t.globalID({
      for: ApprovalRequestRef,
      required: true,
      description: 'The `id` of a request in state AWAITING.',
    }),
  }),
});

const RefuseApprovalPayload = builder
  .objectRef<{ approval: ApprovalRequest }>('RefuseApprovalPayload')
  .implement({
    description: 'The request, refused or withdrawn.',
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
      'Refuses a request for approval of another person, or withdraws one’s own. Repeated by the same person, it changes ' +
        'nothing. Errors: NOT_FOUND, CONFLICT when it is decided or expired.',
    ),
    type: RefuseApprovalPayload,
    nullable: true,
    args: { input: t.arg({ type: RefuseApprovalInput, required: true, description: 'The request.' }) },
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
