/**
 * resolveOffRampSessionReview: an operator decides an off-ramp session that no rule decides.
 */
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { requestApproval } from '../../resolvers/approvals/requestApproval.ts';
import {
  requireOffRampSession,
  type OffRampSession,
} from '../../resolvers/warehouse/offRamp/findOffRampSession.ts';
import { resolveOffRampSessionReview } from '../../resolvers/operations/resolveOffRampSessionReview.ts';
import { APPROVAL } from '../approvals/approvalRequest.ts';
import { forRoles } from '../core/access.ts';
import { requireCaller, subjectOf } from '../core/caller.ts';
import { OffRampSessionReviewDecisionEnum } from '../warehouse/offRampEnums.ts';
import { OffRampSessionRef } from '../warehouse/offRampSession.ts';
import { builder } from '../core/builder.ts';
import { DECISION_REASON, inputOf, SEEN_REVIEW_VERSION } from '../core/inputs.ts';

const ResolveOffRampSessionReviewInput = builder.inputType('ResolveOffRampSessionReviewInput', {
  description:
    'A decision and its reason. A second decision is a CONFLICT, so no decision takes effect twice.',
  fields: (t) => ({
    offRampSessionId: t.globalID({
      for: OffRampSessionRef,
      required: true,
      description:
        'The `id` of an off-ramp session that is in state NEEDS_REVIEW, or waits for a ramp provider other than the ' +
        'configured one.',
    }),
    decision: t.field({
      type: OffRampSessionReviewDecisionEnum,
      required: true,
      description: 'The decision on the session.',
    }),
    reviewVersion: t.string(SEEN_REVIEW_VERSION),
    reason: t.string(DECISION_REASON),
  }),
});

interface Answer {
  session: OffRampSession;
  approval: ApprovalRequest | null;
}

const ResolveOffRampSessionReviewPayload = builder
  .objectRef<Answer>('ResolveOffRampSessionReviewPayload')
  .implement({
    description:
      'The off-ramp session after the decision, or in its current state while the decision awaits approval.',
    fields: (t) => ({
      offRampSession: t.expose('session', { type: OffRampSessionRef, description: 'The off-ramp session.' }),
      approvalRequest: t.expose('approval', APPROVAL),
    }),
  });

builder.mutationField('resolveOffRampSessionReview', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Resolves an off-ramp session that needs review. May need approval (`approvalRequest`). Errors: NOT_FOUND; ' +
        'CONFLICT (the session is neither under review nor waiting for a ramp provider other than the configured ' +
        'one, its `reviewVersion` has changed, as it does with each status of the provider, or the decision does ' +
        'not fit the state on the network); LEDGER_UNAVAILABLE; RAMP_UNAVAILABLE (the provider does not report the ' +
        'state of the payout).',
    ),
    type: ResolveOffRampSessionReviewPayload,
    args: inputOf(ResolveOffRampSessionReviewInput, 'The decision and its reason.'),
    recordedInput: {
      targets: ['offRampSessionId'],
      shown: ['decision', 'reviewVersion'],
      hidden: ['reason'],
    },
    safeWithoutKey: 'deciding what is decided is a CONFLICT',
    resolve: async (_root, { input }, { caller, dependencies }): Promise<Answer> => {
      const asked = { ...input, offRampSessionId: input.offRampSessionId.id };
      const operation = { operation: 'resolveOffRampSessionReview', input: asked } as const;
      const approval = await requestApproval(dependencies, requireCaller(caller), operation);
      const session = approval
        ? await requireOffRampSession(dependencies, asked.offRampSessionId)
        : await resolveOffRampSessionReview(dependencies, subjectOf(caller), asked);
      return { session, approval };
    },
  }),
);
