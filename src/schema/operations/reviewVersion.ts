/**
 * reviewVersion: the version of what an operator decides about, as a field of each such object, and as an
 * input of the decision: `reviewVersion: t.string(SEEN_REVIEW_VERSION)`.
 */
import { versionOfReview, versionOfSessionReview } from '../../resolvers/operations/reviewVersion.ts';
import { isOperator } from '../core/caller.ts';
import { builder } from '../core/builder.ts';
import { OffRampSessionRef } from '../warehouse/offRampSession.ts';
import { SubmissionRef } from './submission.ts';

export const SEEN_REVIEW_VERSION = {
  required: true,
  description:
    'The `reviewVersion` on which the decision is based. CONFLICT when it has changed since: read the object again, ' +
    'then decide.',
} as const;

builder.objectField(SubmissionRef, 'reviewVersion', (t) =>
  t.string({
    nullable: true,
    description:
      'The version of what is to be decided, for `resolveSubmissionReview`. It changes with each review, and with its ' +
      'cause and reason. Null unless the state is NEEDS_REVIEW.',
    resolve: versionOfReview,
  }),
);

builder.objectField(OffRampSessionRef, 'reviewVersion', (t) =>
  t.string({
    nullable: true,
    description:
      'The version of what is to be decided, for `resolveOffRampSessionReview`. It changes with each review, state and ' +
      'status of the provider, also when an earlier one comes back. Null unless the session is under review or waits ' +
      'for a ramp provider other than the configured one, and for callers who are not operators.',
    resolve: (session, _args, { caller, dependencies }) =>
      isOperator(caller) ? versionOfSessionReview(dependencies, session) : null,
  }),
);
