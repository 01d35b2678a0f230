/**
 * expiryRuns: what the expiry job did, night by night.
 */
import { unixSeconds } from '../clock.ts';
import { countItems, findRun, listFailures, listRuns, runCursor } from '../jobs/expiryRuns.ts';
import type { ExpiryCounts, ExpiryFailure, ExpiryRun } from '../jobs/expiryRuns.ts';
import type { Dependencies } from '../resolvers/dependencies.ts';
import { forRoles } from './access.ts';
import { createBatch } from './batch.ts';
import { isOperator } from './caller.ts';
import type { Context } from './context.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from './paging.ts';
import { builder } from './platform.ts';
import { receiptOf, ReceiptRef } from './receipt.ts';

/** The numbers of one run are asked for by several fields at once. */
const countsById = createBatch(async ({ dependencies }: Context<Dependencies>, ids: readonly string[]) =>
  countItems(dependencies, ids),
);

async function countsOf(context: Context<Dependencies>, runId: string): Promise<ExpiryCounts> {
  const counts = await countsById(context, runId);
  if (counts === undefined) throw new Error(`expiry run ${runId} was not counted`);
  return counts;
}

const ExpiryTriggerEnum = builder.enumType('ExpiryTrigger', {
  description: 'Why a run of the expiry job began.',
  values: {
    NIGHTLY: { description: 'At 02:00 of the configured time zone.' },
    CATCH_UP: { description: 'At start, for a night on which nobody ran it.' },
    MANUAL: { description: 'By hand.' },
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
    reason: t.exposeString('reason', { description: 'Why, in words.' }),
  }),
});

export const ExpiryRunRef = builder.objectRef<ExpiryRun>('ExpiryRun');

builder.node(ExpiryRunRef, {
  description: "One run of the expiry job over every receipt that was due. Seen by operators' tokens.",
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, { caller, dependencies }) => (isOperator(caller) ? findRun(dependencies, id) : null),
  fields: (t) => ({
    trigger: t.expose('trigger', { type: ExpiryTriggerEnum, description: 'Why it began.' }),
    night: t.exposeString('night', {
      nullable: true,
      description: 'The night that it was for, as YYYY-MM-DD; null for a run by hand.',
    }),
    requestedBy: t.exposeString('requestedBy', { description: 'Who asked for it.' }),
    startedAt: t.field({
      type: 'UnixTime',
      description: 'When it began, in Unix seconds.',
      resolve: ({ startedAt }) => unixSeconds(startedAt),
    }),
    finishedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When the last of its receipts was decided, in Unix seconds; null before.',
      resolve: ({ finishedAt }) => (finishedAt === null ? null : unixSeconds(finishedAt)),
    }),
    examined: t.int({
      description: 'How many receipts were due by their date.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).examined,
    }),
    expired: t.int({
      description: 'How many of them are expired now.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).expired,
    }),
    failed: t.int({
      description: 'How many of them could not be expired.',
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).failed,
    }),
    notDue: t.int({
      description: "How many of them are not due by the network's own clock.",
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).notDue,
    }),
    pending: t.int({
      description: "How many of them wait for the network's word.",
      resolve: async ({ id }, _args, context) => (await countsOf(context, id)).pending,
    }),
    problem: t.exposeString('problem', {
      nullable: true,
      description: 'Why it could not go on the last time, in words; null when it could.',
    }),
    failures: t.field({
      type: [ExpiryFailureRef],
      description: 'Which receipts could not be expired, and why: at most 100, the latest first.',
      resolve: ({ id }, _args, { dependencies }) => listFailures(dependencies, id),
    }),
  }),
});

const cursors = keysetCursors('expiryRuns', cursorValues.moment);

builder.queryField('expiryRuns', (t) =>
  t.connection(
    {
      ...forRoles(['operator'], 'Runs of the expiry job, newest first, a page at a time.'),
      type: ExpiryRunRef,
      resolve: (_root, args, { dependencies }) =>
        pageOf(args, cursors, (page) => listRuns(dependencies, page), runCursor),
    },
    ...listNames('ExpiryRun'),
  ),
);
