/**
 * expiryRuns: the runs of the expiry job and their results.
 */
import { countItems, findRun, listFailures, listRuns } from '../../jobs/expiryRuns.ts';
import type { ExpiryFailure, ExpiryRun } from '../../jobs/expiryRuns.ts';
import { forRoles } from '../core/access.ts';
import { createRequiredBatch } from '../core/batch.ts';
import { isOperator } from '../core/caller.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { receiptOf, ReceiptRef } from './receipt.ts';
import { moment, momentOrNull } from '../core/time.ts';

/** Batched, because several fields of one run read its counts at the same time. */
const countsOf = createRequiredBatch('expiry run', countItems);

const ExpiryTriggerEnum = builder.enumType('ExpiryTrigger', {
  description: 'Why a run of the expiry job began.',
  values: {
    NIGHTLY: { description: 'At 02:00 of the configured time zone.' },
    CATCH_UP: { description: 'At start-up, for a missed night.' },
    MANUAL: { description: 'Requested with `expireReceipts`.' },
  },
});

const ExpiryFailureRef = builder.objectRef<ExpiryFailure>('ExpiryFailure').implement({
  description: 'A receipt that a run could not expire. The next run tries it again.',
  fields: (t) => ({
    receipt: t.field({
      type: ReceiptRef,
      description: 'The receipt.',
      resolve: ({ receiptId }, _args, context) => receiptOf(context, receiptId),
    }),
    message: t.exposeString('message', { description: 'Why it could not be expired, as text.' }),
  }),
});

export const ExpiryRunRef = builder.objectRef<ExpiryRun>('ExpiryRun');

builder.node(ExpiryRunRef, {
  description: 'One run of the expiry job over every receipt that was due. Visible to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, { caller, dependencies }) => (isOperator(caller) ? findRun(dependencies, id) : null),
  fields: (t) => ({
    trigger: t.expose('trigger', { type: ExpiryTriggerEnum, description: 'Why it began.' }),
    night: t.expose('night', {
      type: 'Date',
      nullable: true,
      description: 'The night that it is for; null for a MANUAL run.',
    }),
    requestedBy: t.exposeString('requestedBy', {
      nullable: true,
      description: 'Who requested a MANUAL run: a subject, or `npm run expire`; null for the others.',
    }),
    startedAt: t.expose('startedAt', moment('When it began')),
    finishedAt: t.expose('finishedAt', momentOrNull('When the last of its receipts was decided')),
    examinedCount: t.int({
      description: 'The number of receipts that were due by their date.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).examined,
    }),
    expiredCount: t.int({
      description: 'The number of them that are expired now.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).expired,
    }),
    failedCount: t.int({
      description: 'The number of them that could not be expired.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).failed,
    }),
    notDueCount: t.int({
      description: "The number of them that are not due by the network's clock.",
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).notDue,
    }),
    pendingCount: t.int({
      description: 'The number of them whose transaction has no outcome yet.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).pending,
    }),
    problem: t.exposeString('problem', {
      nullable: true,
      description: 'Why its latest step failed, as text; null when it did not.',
    }),
    failures: t.field({
      type: [ExpiryFailureRef],
      description: 'Which receipts could not be expired, and why: at most 100, the latest first.',
      resolve: ({ id }, _args, { dependencies }) => listFailures(dependencies, id),
    }),
  }),
});

const cursors = keysetCursors('expiryRuns');

builder.queryField('expiryRuns', (t) =>
  t.connection(
    {
      ...forRoles(['operator'], 'Runs of the expiry job, newest first, a page at a time.'),
      type: ExpiryRunRef,
      nullable: true,
      resolve: (_root, args, { dependencies }) => pageOf(args, cursors, listRuns(dependencies)),
    },
    ...listNames('ExpiryRun'),
  ),
);
