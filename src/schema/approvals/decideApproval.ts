/**
 * grantApproval and refuseApproval: a second person approves an operation, which then runs, or ends its request
 * without running it.
 */
import { grantApproval, refuseApproval } from '../../resolvers/approvals/decideApproval.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { requireCaller } from '../core/caller.ts';
import { DECISION_REASON, inputOf, payloadOf } from '../core/inputs.ts';
import { ApprovalRequestRef, maySeeApproval } from './approvalRequest.ts';
import { runApproved } from './runApproved.ts';

const AWAITING_REQUEST = {
  for: ApprovalRequestRef,
  required: true,
  description: 'The `id` of a request for approval in state AWAITING.',
} as const;

const GrantApprovalInput = builder.inputType('GrantApprovalInput', {
  description: 'The request to approve.',
  fields: (t) => ({ approvalRequestId: t.globalID(AWAITING_REQUEST) }),
});

const RefuseApprovalInput = builder.inputType('RefuseApprovalInput', {
  description: 'The request to refuse or withdraw, and the reason.',
  fields: (t) => ({
    approvalRequestId: t.globalID(AWAITING_REQUEST),
    reason: t.string(DECISION_REASON),
  }),
});

const DECIDED = { approvalRequest: { type: ApprovalRequestRef, description: 'The request for approval.' } };

const ONCE = 'a request for approval is decided once';

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
    recordedInput: { targets: ['approvalRequestId'] },
    safeWithoutKey: ONCE,
    type: payloadOf(
      'GrantApprovalPayload',
      'The approved request. Its `target` shows the object in the state that the operation reached.',
      DECIDED,
    ),
    args: inputOf(GrantApprovalInput, 'The request to approve.'),
    resolve: (_root, { input: { approvalRequestId } }, { caller, dependencies }) =>
      grantApproval(dependencies, requireCaller(caller), approvalRequestId.id, (request, grant) =>
        runApproved(dependencies, request, grant),
      ),
  }),
  refuseApproval: t.field({
    ...forRoles(
      ['developer', 'warehouse', 'operator'],
      "Refuses another person's request for approval, or withdraws the caller's own request. Repeating the " +
        'decision by the same person changes nothing: the first reason stays. Errors: NOT_FOUND, CONFLICT (the ' +
        'request is decided or expired).',
    ),
    recordedInput: { targets: ['approvalRequestId'], hidden: ['reason'] },
    safeWithoutKey: ONCE,
    type: payloadOf('RefuseApprovalPayload', 'The refused or withdrawn request.', DECIDED),
    args: inputOf(RefuseApprovalInput, 'The request to refuse or withdraw, and the reason.'),
    resolve: (_root, { input: { approvalRequestId, reason } }, { caller, dependencies }) => {
      const refusal = { approvalRequestId: approvalRequestId.id, reason };
      return refuseApproval(dependencies, requireCaller(caller), refusal, (request) =>
        maySeeApproval(caller, request),
      );
    },
  }),
}));
