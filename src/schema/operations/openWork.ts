/**
 * openWork: the numbers of submissions and sessions that are under way, late, under review or halted, for
 * operators.
 */
import {
  readOpenWork,
  STUCK_RULE,
  OVERDUE_RULE,
  OVERDUE_RUN_RULE,
  type OpenWork,
} from '../../resolvers/operations/overdueWork.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { momentOrNull } from '../core/time.ts';

const OpenWorkRef = builder.objectRef<OpenWork>('OpenWork').implement({
  description: 'Counts of the work that has not ended, without its owners.',
  fields: (t) => ({
    pendingSubmissionCount: t.int({
      description: 'The number of submissions in progress.',
      resolve: ({ submissions }) => submissions.PENDING,
    }),
    reviewSubmissionCount: t.int({
      description: 'The number of submissions that an operator must decide.',
      resolve: ({ submissions }) => submissions.NEEDS_REVIEW,
    }),
    stuckSubmissionCount: t.exposeInt('stuckSubmissions', {
      description: `The number of submissions that are stuck: ${STUCK_RULE}.`,
    }),
    oldestStuckAt: t.expose(
      'stuckSince',
      momentOrNull('When the oldest one that is stuck was committed', 'null when none is'),
    ),
    pendingOffRampSessionCount: t.int({
      description: 'The number of off-ramp sessions in progress, or waiting for a holder or a payout.',
      resolve: ({ offRampSessions: { NEEDS_REVIEW: _review, ...pending } }) =>
        Object.values(pending).reduce((sum, count) => sum + count, 0),
    }),
    reviewOffRampSessionCount: t.int({
      description: 'The number of off-ramp sessions that an operator must decide.',
      resolve: ({ offRampSessions }) => offRampSessions.NEEDS_REVIEW,
    }),
    overdueOffRampSessionCount: t.exposeInt('overdueSessions', {
      description: `The number of off-ramp sessions that are overdue: ${OVERDUE_RULE}.`,
    }),
    oldestOverdueAt: t.expose(
      'overdueSince',
      momentOrNull('When the oldest one that is overdue was requested', 'null when none is'),
    ),
    overdueExpiryRunCount: t.exposeInt('overdueExpiryRuns', {
      description: `The number of expiry runs that are overdue: ${OVERDUE_RUN_RULE}.`,
    }),
    awaitingApprovalRequestCount: t.exposeInt('awaitingApprovals', {
      description: 'The number of requests for approval in state AWAITING.',
    }),
    signingHaltedBecause: t.exposeString('haltedBecause', {
      nullable: true,
      description:
        'Why signing is halted; null while it works. Read from the database alone, so it is there when the network does not answer.',
    }),
    feedDelaySeconds: t.int({
      nullable: true,
      description:
        'How long the newest retirement record was on the network before the feed had it, in whole seconds; null while there is none.',
      resolve: ({ feedDelaySeconds }) => (feedDelaySeconds === null ? null : Math.round(feedDelaySeconds)),
    }),
  }),
});

builder.queryField('openWork', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Counts of the work that has not ended, cheap enough for monitoring. `submissions`, ' +
        '`offRampSessions`, `expiryRuns` and `approvalRequests` list it.',
    ),
    type: OpenWorkRef,
    nullable: true,
    resolve: (_root, _args, { dependencies }) => readOpenWork(dependencies.db),
  }),
);
