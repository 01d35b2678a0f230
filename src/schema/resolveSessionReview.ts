/**
 * resolveSessionReview: an operator decides about a cash-out what no rule could.
 */
import type { CashOut } from '../resolvers/findCashOut.ts';
import { resolveSessionReview } from '../resolvers/resolveSessionReview.ts';
import { forRoles } from './access.ts';
import { subjectOf } from './caller.ts';
import { CashOutSessionRef, SessionReviewDecisionEnum } from './cashOutSession.ts';
import { builder } from './platform.ts';
import { reason } from './text.ts';

const ResolveSessionReviewInput = builder.inputType('ResolveSessionReviewInput', {
  description:
    'A decision, and why. Deciding what is decided already is a CONFLICT, so it can not happen twice.',
  fields: (t) => ({
    id: t.globalID({
      for: CashOutSessionRef,
      required: true,
      description: 'The `id` of a cash-out in state NEEDS_REVIEW.',
    }),
    decision: t.field({ type: SessionReviewDecisionEnum, required: true, description: 'What to do.' }),
    reason: t.string({
      required: true,
      validate: { schema: reason },
      description: 'Why, for the record: 1 to 512 bytes of UTF-8.',
    }),
  }),
});

const ResolveSessionReviewPayload = builder.objectRef<CashOut>('ResolveSessionReviewPayload').implement({
  description: 'The cash-out after the decision.',
  fields: (t) => ({
    session: t.field({
      type: CashOutSessionRef,
      description: 'The cash-out.',
      resolve: (session) => session,
    }),
  }),
});

builder.mutationField('resolveSessionReview', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Resolves a cash-out that needs review. Errors: NOT_FOUND, CONFLICT when it is not under review or the decision ' +
        'does not fit what the network shows, LEDGER_UNAVAILABLE.',
    ),
    type: ResolveSessionReviewPayload,
    args: {
      input: t.arg({ type: ResolveSessionReviewInput, required: true, description: 'The decision.' }),
    },
    resolve: (_root, { input }, { caller, dependencies }) =>
      resolveSessionReview(dependencies, subjectOf(caller), {
        cashOutId: input.id.id,
        decision: input.decision,
        note: input.reason,
      }),
  }),
);
