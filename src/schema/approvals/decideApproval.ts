/**
 * grantApproval and refuseApproval: a second person approves an operation, which then runs, or ends its request
 * without running it.
 */
import { grantApproval, refuseApproval } from '../../resolvers/approvals/decideApproval.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { requireCaller } from '../core/caller.ts';
import { inputOf, payloadOf } from '../core/inputs.ts';
import { ApprovalRequestRef, maySeeApproval } from './approvalRequest.ts';
import { runApproved } from './runApproved.ts';

function decisionArgs(inputName: string, description: string) {
  const input = builder.inputType(inputName, {
    description,
    fields: (t) => ({
      approvalRequestId: t.globalID({
        for: ApprovalRequestRef,
        required: true,
        description: 'The `id` of a request for approval in state AWAITING.',
      }),
    }),
  });
  return inputOf(input, description);
}

const DECIDED = { approvalRequest: { type: ApprovalRequestRef, description: 'The request for approval.' } };

const RECORDED = {
  recordedInput: { targets: ['approvalRequestId'] },
  safeWithoutKey: 'a request for approval is decided once',
};

builder.mutationFields((t) => ({
  grantApproval: t.field({
    ...forRoles(
      ['operator'],
      'Approves an operation that another person requested, and runs it exactly once. Waits as long as the ' +
        'approved mutation does and returns its errors. While the request stays AWAITING, nothing was done. ' +
        'Repeating the approval by the same person changes nothing. Errors: NOT_FOUND, FORBIDDEN (the requester, or ' +
        'an API key created by the same administrator), CONFLICT (the request is decided or expired, or its target ' +
        'has changed), and the errors of the operation.',
    ),
    ...RECORDED,
    type: payloadOf(
      'GrantApprovalPayload',
      'The approved request. Its `target` shows the object in the state that the operation reached.',
      DECIDED,
    ),
    args: decisionArgs('GrantApprovalInput', 'The request to approve.'),
    resolve: (_root, { input: { approvalRequestId } }, { caller, dependencies }) =>
      grantApproval(dependencies, requireCaller(caller), approvalRequestId.id, (request, grant) =>
        runApproved(dependencies, request, grant),
      ),
  }),
  refuseApproval: t.field({
    ...forRoles(
      ['developer', 'warehouse', 'operator'],
      "Refuses another person's request for approval, or withdraws the caller's own request. Repeating the " +
        'decision by the same person changes nothing. Errors: NOT_FOUND, CONFLICT (the request is decided or ' +
        'expired).',
    ),
    ...RECORDED,
    type: payloadOf('RefuseApprovalPayload', 'The refused or withdrawn request.', DECIDED),
    args: decisionArgs('RefuseApprovalInput', 'The request to refuse or withdraw.'),
    resolve: (_root, { input: { approvalRequestId } }, { caller, dependencies }) =>
      refuseApproval(dependencies, requireCaller(caller), approvalRequestId.id, (request) =>
        maySeeApproval(caller, request),
      ),
  }),
}));
