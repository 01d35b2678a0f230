/**
 * Submission: an intent on its way to the network, for operators.
 */
import type { FoundOnNetwork } from '../../ledger/submission/effects.ts';
import { findOnNetwork, intentOf, type Submission } from '../../ledger/submission/settle.ts';
import { readTransactions } from '../../resolvers/carbon/findRetirement.ts';
import { findSubmission, listSubmissions } from '../../resolvers/operations/listSubmissions.ts';
import { STUCK_RULE } from '../../resolvers/operations/overdueWork.ts';
import { forRoles } from '../core/access.ts';
import { isOperator } from '../core/caller.ts';
import { FILTER_RULE } from '../core/filters.ts';
import { NetworkTransactionRef } from './networkTransaction.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { kindOf, NetworkCallKindEnum } from './networkCallKind.ts';
import { decisionsOf, SubmissionDecisionRef } from './submissionDecision.ts';
import { fromTime, moment, momentOrNull, untilTime } from '../core/time.ts';

const SubmissionStateEnum = builder.enumType('SubmissionState', {
  description: 'State of a submission.',
  values: {
    PENDING: { description: 'In progress; it survives a restart.' },
    SUCCEEDED: { description: 'Landed, and effective.' },
    REFUSED: {
      description: 'Refused by the network, or ended by an operator; what was reserved is returned.',
    },
    NEEDS_REVIEW: {
      description: 'An operator decides: see `resolveSubmissionReview`. What was reserved stays reserved.',
    },
  },
});

const SubmissionReviewCause = builder.enumType('SubmissionReviewCause', {
  description: 'Why an operator must decide a submission.',
  values: {
    SIGNING_HALTED: {
      description: 'Signing stopped while it was unsigned: what it asks for may have been done already.',
    },
    SIGNING_RESUMED: {
      description:
        'Signing stopped while it was unsigned, and has gone on since. That says nothing about this one: it stays under review until it is decided.',
    },
    FOUND_ON_NETWORK: {
      description: 'The network shows that it was done, by a transaction that this platform does not know.',
    },
    UNDETERMINABLE: { description: 'The network no longer has the history that would decide it.' },
    ATTEMPTS_DIED: { description: 'Its signed transactions died repeatedly.' },
    SETTLEMENT_FAILED: { description: 'The network decided it, but the outcome could not be stored.' },
    REFUSED: {
      description: 'It was refused, or does not fit the configuration, and no rule says what follows.',
    },
  },
});

const FoundOnNetworkRef = builder.objectRef<FoundOnNetwork>('FoundOnNetwork').implement({
  description: 'What the network shows of a contract call that none of our own transactions made.',
  fields: (t) => ({
    evidence: t.exposeString('evidence', { description: 'The evidence, as text.' }),
    adoptable: t.boolean({
      description:
        'Whether it is exactly that call, so that `resolveSubmissionReview` with ADOPT can take it as the outcome.',
      resolve: ({ result }) => result !== null,
    }),
    recordIndex: t.int({
      nullable: true,
      description: 'Of a retirement: the index of the record; null otherwise.',
      resolve: ({ result }) => (result?.kind === 'retired' ? result.retirementIndex : null),
    }),
    txHash: t.string({
      nullable: true,
      description: 'The hash of the transaction, where it is known.',
      resolve: ({ txHash }) => txHash ?? null,
    }),
  }),
});

const SubmissionSignerEnum = builder.enumType('SubmissionSigner', {
  description: 'Whose key signs a contract call.',
  values: {
    CUSTODY: { description: "The platform's custody signer. It signs again when a transaction is dead." },
    HOLDER: {
      description:
        'A holder with their own wallet. A dead transaction is REFUSED; the holder prepares another.',
    },
  },
});

export const SubmissionRef = builder.objectRef<Submission>('Submission');

builder.node(SubmissionRef, {
  description: 'One contract call on its way to the network. Visible to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, { caller, dependencies }) =>
    isOperator(caller) ? findSubmission(dependencies, id) : null,
  fields: (t) => ({
    kind: t.field({ type: NetworkCallKindEnum, description: 'Which contract call it is.', resolve: kindOf }),
    signer: t.expose('signer', { type: SubmissionSignerEnum, description: 'Whose key signs it.' }),
    state: t.expose('state', { type: SubmissionStateEnum, description: 'Its state.' }),
    txHash: t.exposeString('txHash', {
      nullable: true,
      description:
        'The hash of the transaction that landed; null otherwise, and while that of an adopted outcome is unknown.',
    }),
    stateReason: t.exposeString('stateReason', {
      nullable: true,
      description:
        'Why it was refused or needs review, or, while it is PENDING, why its last step failed or the node does not take its transaction, as text; null otherwise.',
    }),
    reviewCause: t.expose('reviewCause', {
      type: SubmissionReviewCause,
      nullable: true,
      description: 'Why an operator must decide; null unless it is NEEDS_REVIEW.',
    }),
    foundOnNetwork: t.field({
      type: FoundOnNetworkRef,
      nullable: true,
      description:
        'The same call as found on the network, made by another transaction. Read at query time; null unless the state is ' +
        'NEEDS_REVIEW and there is one. Errors: LEDGER_UNAVAILABLE.',
      resolve: (submission, _args, { dependencies }) =>
        submission.state === 'NEEDS_REVIEW'
          ? findOnNetwork(dependencies.submission, intentOf(submission))
          : null,
    }),
    decisions: t.field({
      type: [SubmissionDecisionRef],
      description: 'What operators decided while it was under review, oldest first.',
      resolve: async ({ id }, _args, context) => (await decisionsOf(context, id)) ?? [],
    }),
    adoptedOutcome: t.exposeString('adoptedOutcome', {
      nullable: true,
      description: 'What an operator adopted from the network as its outcome, as text; null otherwise.',
    }),
    dueAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When its next step is due, in Unix seconds; null unless it is PENDING.',
      resolve: ({ dueAt, state }) => (state === 'PENDING' ? dueAt : null),
    }),
    createdAt: t.expose('createdAt', moment('When the intent was committed')),
    settledAt: t.expose('settledAt', momentOrNull('When it was settled')),
    transactions: t.field({
      type: [NetworkTransactionRef],
      description: 'Every signed transaction of its target, oldest first.',
      resolve: ({ targetId }, _args, { dependencies }) => readTransactions(dependencies, targetId),
    }),
  }),
});

const SubmissionFilterInput = builder.inputType('SubmissionFilter', {
  description: `A submission ${FILTER_RULE}`,
  fields: (t) => ({
    states: t.field({ type: [SubmissionStateEnum], description: 'In one of these states.' }),
    kinds: t.field({ type: [NetworkCallKindEnum], description: 'Of one of these kinds.' }),
    reviewCauses: t.field({
      type: [SubmissionReviewCause],
      description: 'In NEEDS_REVIEW for one of these reasons.',
    }),
    stuck: t.boolean({
      description: `true: only those that are stuck, which is ${STUCK_RULE}; false: only the others.`,
    }),
    from: t.field(fromTime('Committed')),
    until: t.field(untilTime('Committed')),
  }),
});

const cursors = keysetCursors('submissions');

builder.queryFields((t) => ({
  submission: t.field({
    ...forRoles(['operator'], 'A submission by its id; null when there is none.'),
    type: SubmissionRef,
    nullable: true,
    args: {
      id: t.arg.globalID({ for: SubmissionRef, required: true, description: 'The `id` of the submission.' }),
    },
    resolve: (_root, { id }, { dependencies }) => findSubmission(dependencies, id.id),
  }),
  submissions: t.connection(
    {
      ...forRoles(['operator'], 'Submissions, oldest first, a page at a time.'),
      type: SubmissionRef,
      nullable: true,
      args: { filter: t.arg({ type: SubmissionFilterInput, description: 'Which submissions.' }) },
      resolve: (_root, args, { dependencies }) =>
        pageOf(args, cursors, listSubmissions(dependencies, args.filter ?? {})),
    },
    ...listNames('Submission'),
  ),
}));
