/**
 * withdrawApproval: ends a request for approval without doing what it asks for.
 */
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { withdrawApproval } from '../../resolvers/approvals/decideApproval.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { requireCaller } from '../core/caller.ts';
import { APPROVAL, ApprovalRequestRef, maySeeApproval } from './approvalRequest.ts';

const WithdrawApprovalInput = builder.inputType('WithdrawApprovalInput', {
  description: 'What to withdraw.',
  fields: (t) => ({
    approvalRequestId: t.globalID({
      for: ApprovalRequestRef,
      required: true,
      description: 'The `id` of a request in state AWAITING.',
    }),
  }),
});

const WithdrawApprovalPayload = builder
  .objectRef<{ approval: ApprovalRequest }>('WithdrawApprovalPayload')
  .implement({
    description: 'The request, withdrawn.',
    fields: (t) => ({
      approvalRequest: t.expose('approval', {
        ...APPROVAL,
        nullable: false,
        description: 'The request for approval.',
      }),
    }),
  });

builder.mutationField('withdrawApproval', (t) =>
  t.field({
    ...forRoles(
      ['developer', 'warehouse', 'operator'],
      'Withdraws a request for approval: its requester changes their mind, or an operator refuses it. Repeated by the same ' +
        'person, it changes nothing. Errors: NOT_FOUND, CONFLICT when it is decided or expired.',
    ),
    type: WithdrawApprovalPayload,
    nullable: true,
    args: { input: t.arg({ type: WithdrawApprovalInput, required: true, description: 'The request.' }) },
    recordedInput: { targets: ['approvalRequestId'] },
    safeWithoutKey: 'a request for approval is decided once',
    resolve: async (_root, { input }, { caller, dependencies }) => ({
      approval: await withdrawApproval(
        dependencies,
        requireCaller(caller),
        input.approvalRequestId.id,
        (request) => maySeeApproval(caller, request),
      ),
    }),
  }),
);
