/**
 * Submission: an intent on its way to the network, for those who run the platform.
 */
import { unixSeconds } from '../clock.ts';
import type { Submission } from '../ledger/submission/settle.ts';
import { readTransactions } from '../resolvers/findRetirement.ts';
import { findSubmission, listSubmissions, submissionCursor } from '../resolvers/listSubmissions.ts';
import { forRoles } from './access.ts';
import { isOperator } from './caller.ts';
import { NetworkTransactionRef } from './networkTransaction.ts';
import { notFound } from './notFound.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from './paging.ts';
import { builder } from './platform.ts';

const SubmissionStateEnum = builder.enumType('SubmissionState', {
  description: 'How far an intent is on its way to the network.',
  values: {
    PENDING: { description: 'Being carried out; a restart changes nothing.' },
    SUCCEEDED: { description: 'Landed, with its effect.' },
    REFUSED: {
      description: 'Refused by the network, or given up by an operator; what was reserved is returned.',
    },
    NEEDS_REVIEW: { description: 'An operator decides: see `resolveReview`. What was reserved stays so.' },
  },
});

const SubmissionSignerEnum = builder.enumType('SubmissionSigner', {
  description: 'Whose key signs a contract call.',
  values: {
    CUSTODY: { description: "The platform's custody signer: again, when what was signed is dead." },
    HOLDER: {
      description: 'A holder with a wallet of their own: what is dead is REFUSED, and prepared anew.',
    },
  },
});

export const SubmissionRef = builder.objectRef<Submission>('Submission');

builder.node(SubmissionRef, {
  description: "One contract call on its way to the network. Seen by operators' tokens.",
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, { caller, dependencies }) =>
    isOperator(caller) ? findSubmission(dependencies, id) : null,
  fields: (t) => ({
    kind: t.exposeString('kind', { description: 'The contract call: deployCarbonCredit, mint, retire, …' }),
    subjectId: t.exposeString('subjectId', {
      description: 'The UUID of what the call is for: a project, a retirement, …',
    }),
    signer: t.expose('signer', { type: SubmissionSignerEnum, description: 'Whose key signs it.' }),
    state: t.expose('state', { type: SubmissionStateEnum, description: 'How far it is.' }),
    txHash: t.exposeString('txHash', {
      nullable: true,
      description: 'The hash of the transaction that landed; null otherwise.',
    }),
    message: t.exposeString('message', {
      nullable: true,
      description: 'Why it was refused or needs review, in words; null otherwise.',
    }),
    dueAt: t.field({
      type: 'UnixTime',
      description: 'When its next step is due, in Unix seconds; means nothing once it is settled.',
      resolve: ({ dueAt }) => unixSeconds(dueAt),
    }),
    createdAt: t.field({
      type: 'UnixTime',
      description: 'When the intent was committed, in Unix seconds.',
      resolve: ({ createdAt }) => unixSeconds(createdAt),
    }),
    settledAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When it was settled, in Unix seconds; null before.',
      resolve: ({ settledAt }) => (settledAt === null ? null : unixSeconds(settledAt)),
    }),
    transactions: t.field({
      type: [NetworkTransactionRef],
      description: 'Every transaction that was signed for its subject, oldest first.',
      resolve: ({ subjectId }, _args, { dependencies }) => readTransactions(dependencies, subjectId),
    }),
  }),
});

const SubmissionFilterInput = builder.inputType('SubmissionFilter', {
  description: 'Only submissions that have all of these.',
  fields: (t) => ({ state: t.field({ type: SubmissionStateEnum, description: 'In this state.' }) }),
});

const cursors = keysetCursors('submissions', cursorValues.moment);

builder.queryFields((t) => ({
  submission: t.field({
    ...forRoles(['operator'], 'A submission by its id. NOT_FOUND when there is none.'),
    type: SubmissionRef,
    args: {
      id: t.arg.globalID({ for: SubmissionRef, required: true, description: 'The `id` of the submission.' }),
    },
    resolve: async (_root, { id }, { dependencies }) => {
      const found = await findSubmission(dependencies, id.id);
      if (found === null) throw notFound('submission');
      return found;
    },
  }),
  submissions: t.connection(
    {
      ...forRoles(['operator'], 'Submissions, oldest first, a page at a time.'),
      type: SubmissionRef,
      args: { filter: t.arg({ type: SubmissionFilterInput, description: 'Which submissions.' }) },
      resolve: (_root, args, { dependencies }) =>
        pageOf(
          args,
          cursors,
          (page) => listSubmissions(dependencies, args.filter ?? {}, page),
          submissionCursor,
        ),
    },
    ...listNames('Submission'),
  ),
}));
