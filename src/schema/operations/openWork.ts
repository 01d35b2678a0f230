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
  description: 'Counts of the unfinished work, without its owners.',
  fields: (t) => ({
    pendingSubmissionCount: t.int({
      description: 'The number of submissions in progress.',
      resolve: ({ submissions }) => submissions.PENDING,
    }),
    reviewSubmissionCount: t.int({
      description: 'The number of submissions that an operator has to decide.',
      resolve: ({ submissions }) => submissions.NEEDS_REVIEW,
    }),
    stuckSubmissionCount: t.exposeInt('stuckSubmissions', {
      description: `The number of stuck submissions: ${STUCK_RULE}.`,
    }),
    oldestStuckAt: t.expose(
      'stuckSince',
      momentOrNull('The time the oldest stuck submission was committed', 'Null when no submission is stuck'),
    ),
    pendingOffRampSessionCount: t.int({
      description: 'The number of off-ramp sessions that are in progress, or wait for a holder or a payout.',
      resolve: ({ offRampSessions: { NEEDS_REVIEW: _review, ...pending } }) =>
        Object.values(pending).reduce((sum, count) => sum + count, 0),
    }),
    reviewOffRampSessionCount: t.int({
      description: 'The number of off-ramp sessions that an operator has to decide.',
      resolve: ({ offRampSessions }) => offRampSessions.NEEDS_REVIEW,
    }),
    overdueOffRampSessionCount: t.exposeInt('overdueSessions', {
      description: `The number of overdue off-ramp sessions: ${OVERDUE_RULE}.`,
    }),
    oldestOverdueAt: t.expose(
      'overdueSince',
      momentOrNull(
        'The time the oldest overdue off-ramp session was requested',
        'Null when no session is overdue',
      ),
    ),
    overdueExpiryRunCount: t.exposeInt('overdueExpiryRuns', {
      description: `The number of overdue expiry runs: ${OVERDUE_RUN_RULE}.`,
    }),
    awaitingApprovalRequestCount: t.exposeInt('awaitingApprovals', {
      description: 'The number of requests for approval in state AWAITING.',
    }),
    signingHaltedBecause: t.exposeString('haltedBecause', {
      nullable: true,
      description:
        'The reason why signing is halted; the reasons, when several accounts are halted. Null while signing works. ' +
        'Read only from the database, so the reason is available while the network does not answer.',
    }),
    signingHaltVersion: t.exposeString('haltVersion', {
      nullable: true,
      description:
        'The version of the halt of signing, for `resumeSigning`. It changes with each reason to halt, and with each ' +
        'halt. Null while signing works.',
    }),
    feedDelaySeconds: t.int({
      nullable: true,
      description:
        'How long the newest retirement record was on the network before the feed had it, in whole seconds. Null ' +
        'while the feed is empty.',
      resolve: ({ feedDelaySeconds }) => (feedDelaySeconds === null ? null : Math.round(feedDelaySeconds)),
    }),
  }),
});

builder.queryField('openWork', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Counts of the unfinished work, cheap enough for monitoring. `submissions`, `offRampSessions`, `expiryRuns` ' +
        'and `approvalRequests` list the work.',
    ),
    type: OpenWorkRef,
    resolve: (_root, _args, { dependencies }) => readOpenWork(dependencies.db),
  }),
);
