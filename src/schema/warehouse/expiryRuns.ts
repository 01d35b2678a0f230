/**
 * expiryRuns: the runs of the expiry job and their results. expireReceipts starts one on request.
 */
import {
  countItems,
  findRun,
  listFailures,
  listRuns,
  type ExpiryFailure,
  type ExpiryRun,
  requestRun,
} from '../../jobs/expiryRuns.ts';
import { forRoles } from '../core/access.ts';
import { createBatch, createRequiredBatch } from '../core/batch.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { receiptOf, ReceiptRef } from './receipt.ts';
import { moment, momentOrNull } from '../core/time.ts';
import { payloadOf, resultOf } from '../core/inputs.ts';

/** Batched, because several fields of one run read its counts at the same time. */
const countsOf = createRequiredBatch('expiry run', countItems);
const failuresOf = createBatch(listFailures);

const ExpiryTriggerEnum = enumOf('ExpiryTrigger', 'The reason why a run of the expiry job began.', {
  NIGHTLY: 'The nightly run at 02:00 of the configured time zone.',
  CATCH_UP: 'A run at start-up, for a missed night.',
  MANUAL: 'A run requested with `expireReceipts`, or with `npm run expire`.',
});

const ExpiryFailureRef = builder.objectRef<ExpiryFailure>('ExpiryFailure').implement({
  description: 'A receipt that a run could not expire. The next run tries again.',
  fields: (t) => ({
    receipt: t.field({
      type: ReceiptRef,
      description: 'The receipt.',
      resolve: ({ receiptId }, _args, context) => receiptOf(context, receiptId),
    }),
    message: t.exposeString('message', {
      description: 'The reason why the receipt could not be expired, as text.',
    }),
  }),
});

const ExpiryRunRef = builder.objectRef<ExpiryRun>('ExpiryRun');

builder.node(ExpiryRunRef, {
  description: 'One run of the expiry job over all receipts that were due. Visible to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: visible(findRun, isOperator),
  fields: (t) => ({
    trigger: t.expose('trigger', { type: ExpiryTriggerEnum, description: 'The reason why the run began.' }),
    night: t.expose('night', {
      type: 'Date',
      nullable: true,
      description: 'The night that the run is for. Null for a MANUAL run.',
    }),
    requestedBy: t.exposeString('requestedBy', {
      nullable: true,
      description: 'The subject who requested a MANUAL run, or `npm run expire`. Null for other runs.',
    }),
    startedAt: t.expose('startedAt', moment('The time the run began')),
    endedAt: t.expose('endedAt', momentOrNull('The time the last receipt of the run was decided')),
    examinedCount: t.int({
      description: 'The number of receipts that were due by their date.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).examined,
    }),
    expiredCount: t.int({
      description: 'The number of due receipts that are expired now.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).expired,
    }),
    failedCount: t.int({
      description: 'The number of due receipts that could not be expired.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).failed,
    }),
    notDueCount: t.int({
      description: "The number of receipts that are due by their date, but not by the network's clock.",
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).notDue,
    }),
    pendingCount: t.int({
      description: 'The number of due receipts whose transaction has no outcome yet.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).pending,
    }),
    problem: t.exposeString('problem', {
      nullable: true,
      description: 'The reason why the latest step of the run failed, as text. Null when it did not fail.',
    }),
    failures: t.field({
      type: [ExpiryFailureRef],
      description: 'The receipts that could not be expired, with the reasons: at most 100, latest first.',
      resolve: async ({ id }, _args, context) => (await failuresOf(context, id)) ?? [],
    }),
  }),
});

const cursors = keysetCursors('expiryRuns');

builder.queryField('expiryRuns', (t) =>
  t.connection(
    {
      ...forRoles(['operator'], 'A paginated list of the runs of the expiry job, newest first.'),
      type: ExpiryRunRef,
      resolve: (_root, args, { dependencies }) => pageOf(args, cursors, listRuns(dependencies, {})),
    },
    ...listNames('ExpiryRun'),
  ),
);

builder.mutationField('expireReceipts', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Starts a run of the expiry job now, in addition to the nightly runs, and returns immediately. A receipt ' +
        'that another run has claimed is left to that run.',
    ),
    type: payloadOf('ExpireReceiptsPayload', 'The run that was started, which continues in the background.', {
      expiryRun: resultOf(ExpiryRunRef, 'The run, whose progress `node(id:)` shows.'),
    }),
    recordedInput: {},
    safeWithoutKey: 'a receipt expires once, however many runs there are',
    resolve: async (_root, _args, { caller, dependencies }) => {
      const requestedBy = subjectOf(caller);
      const run = await requestRun(dependencies, { trigger: 'MANUAL', night: null, requestedBy });
      if (run === null) throw new Error('a run by hand was not recorded');
      return run;
    },
  }),
);
