/**
 * Submission: an intent on its way to the network, with the object that it is for, and the decisions about it
 * while it was under review. For operators.
 */
import type { SubmissionReviewDecision } from '../../resolvers/operations/resolveSubmissionReview.ts';
import { readDecisions, type OperatorDecision } from '../../resolvers/operations/operatorDecisions.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { moment, momentOrNull } from '../core/time.ts';
import type { FoundOnNetwork } from '../../ledger/submission/effects.ts';
import { findOnNetwork, intentOf, type Submission } from '../../ledger/submission/settle.ts';
import { findRetirement } from '../../resolvers/carbon/findRetirement.ts';
import { findSubmission, listSubmissions } from '../../resolvers/operations/listSubmissions.ts';
import { versionOfReview } from '../../resolvers/operations/reviewVersion.ts';
import { STUCK_RULE } from '../../resolvers/operations/overdueWork.ts';
import { forRoles } from '../core/access.ts';
import { isOperator } from '../core/caller.ts';
import { filterInput, within } from '../core/filters.ts';
import { addList } from '../core/lists.ts';
import { NetworkTransactionRef, readSigned } from './networkTransaction.ts';
import { visible } from '../core/visible.ts';
import { idOf } from '../core/inputs.ts';
import { kindOf, NetworkCallKindEnum } from './networkCallKind.ts';
import { projectOf, ProjectRef } from '../carbon/project.ts';
import { RetirementRef } from '../carbon/retirement.ts';
import type { Context } from '../core/context.ts';
import { actOf, HolderActRef } from '../wallets/holderAct.ts';
import { OffRampSessionRef, sessionOf } from '../warehouse/offRampSession.ts';
import { receiptOf, ReceiptRef } from '../warehouse/receipt.ts';

export const SubmissionReviewDecisionEnum = enumOf(
  'SubmissionReviewDecision',
  'The decision of an operator about a submission under review.',
  {
    RESUME:
      'Checks the network again and continues the submission; unsigned or dead transactions are signed again. ' +
      'CONFLICT when the network shows that the call was already made, or while signing is halted.',
    ADOPT:
      'Ends the submission as succeeded, with the outcome that the network shows (`Submission.foundOnNetwork`): a ' +
      'transaction that this platform does not know made the call. CONFLICT when the network shows nothing, or ' +
      'another call.',
    GIVE_UP:
      'Ends the submission as refused and returns reserved amounts. CONFLICT while a signed transaction can still ' +
      'land, or when the network shows that the call was made. A mint stays NEEDS_REVIEW, because its token is ' +
      'already deployed.',
  },
);

const SubmissionDecisionRef = builder.objectRef<OperatorDecision>('SubmissionDecision').implement({
  description: 'The decision of an operator about a submission under review.',
  fields: (t) => ({
    decision: t.field({
      type: SubmissionReviewDecisionEnum,
      description: 'The decision.',
      // The end of a halt belongs to no submission.
      resolve: ({ decision }) => decision as SubmissionReviewDecision,
    }),
    decidedBy: t.exposeString('decidedBy', { description: "The subject of the operator's token." }),
    reason: t.exposeString('reason', { description: "The operator's reason." }),
    decidedAt: t.expose('decidedAt', moment('The time of the decision')),
  }),
});

/** A submission's decisions, oldest first. */
const decisionsOf = createBatch(readDecisions);

const SubmissionStateEnum = enumOf('SubmissionState', 'The state of a submission.', {
  PENDING: 'The submission is in progress. It continues after a restart.',
  SUCCEEDED: 'The transaction landed and had its effect.',
  REFUSED: 'The network refused the submission, or an operator ended it. Reserved amounts were returned.',
  NEEDS_REVIEW: 'An operator has to decide with `resolveSubmissionReview`. Reserved amounts stay reserved.',
});

const SubmissionReviewCause = enumOf(
  'SubmissionReviewCause',
  'The reason why an operator has to decide a submission.',
  {
    SIGNING_HALTED:
      'Signing stopped while the submission was unsigned: the requested call may already have been made.',
    SIGNING_RESUMED:
      'Signing stopped while the submission was unsigned, and has resumed since. The resumption proves nothing ' +
      'about this submission, so it stays under review until an operator decides it.',
    FOUND_ON_NETWORK:
      'The network shows that the call was made by a transaction that this platform does not know.',
    UNDETERMINABLE: 'The network no longer has the history that would decide the outcome.',
    ATTEMPTS_DIED: 'The signed transactions of the submission died repeatedly.',
    SETTLEMENT_FAILED: 'The network decided the outcome, but the outcome could not be stored.',
    REFUSED: 'The submission was refused, or does not fit the configuration, and no rule says what follows.',
  },
);

const FoundOnNetworkRef = builder.objectRef<FoundOnNetwork>('FoundOnNetwork').implement({
  description:
    "Evidence on the network that a contract call was made by a transaction that is not one of the platform's.",
  fields: (t) => ({
    evidence: t.exposeString('evidence', { description: 'The evidence, as text.' }),
    adoptable: t.boolean({
      description:
        'Whether the evidence shows exactly this call, so that `resolveSubmissionReview` with ADOPT can adopt it as the outcome.',
      resolve: ({ result }) => result !== null,
    }),
    recordIndex: t.int({
      nullable: true,
      description: 'The index of the record, for a retirement. Null otherwise.',
      resolve: ({ result }) => (result?.kind === 'retired' ? result.retirementIndex : null),
    }),
    txHash: t.string({
      nullable: true,
      description: 'The hash of the transaction. Null when it is not known.',
      resolve: ({ txHash }) => txHash ?? null,
    }),
  }),
});

const SubmissionSignerEnum = enumOf('SubmissionSigner', 'The owner of the key that signs a contract call.', {
  CUSTODY: "The platform's custody signer. It signs another transaction when one is dead.",
  HOLDER:
    'A holder with their own wallet. A dead transaction is REFUSED, and the holder has to prepare another one.',
});

const SubmissionTarget = builder.unionType('SubmissionTarget', {
  description: 'The object that a contract call is for.',
  types: [ProjectRef, RetirementRef, ReceiptRef, OffRampSessionRef, HolderActRef],
  resolveType: (target) => {
    if ('unsigned' in target) return HolderActRef;
    if ('providerName' in target) return OffRampSessionRef;
    if ('warehouseId' in target) return ReceiptRef;
    return 'beneficiary' in target ? RetirementRef : ProjectRef;
  },
});

export const SubmissionRef = builder.objectRef<Submission>('Submission');

builder.node(SubmissionRef, {
  description: 'One contract call on its way to the network. Visible to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: visible(findSubmission, isOperator),
  fields: (t) => ({
    kind: t.field({ type: NetworkCallKindEnum, description: 'The kind of contract call.', resolve: kindOf }),
    target: t.field({
      type: SubmissionTarget,
      nullable: true,
      description: 'The object that the call is for. Null for the deployment of the settlement contract.',
      resolve: (submission, _args, context) => targetOf(context, submission),
    }),
    signer: t.expose('signer', {
      type: SubmissionSignerEnum,
      description: 'The owner of the key that signs the call.',
    }),
    state: t.expose('state', { type: SubmissionStateEnum, description: 'The state of the submission.' }),
    txHash: t.exposeString('txHash', {
      nullable: true,
      description:
        'The hash of the transaction that landed. Null otherwise, and while the hash of an adopted outcome is unknown.',
    }),
    stateReason: t.exposeString('stateReason', {
      nullable: true,
      description:
        'The reason why the submission was refused or needs review, as text. While it is PENDING, the reason why ' +
        'its last step failed or the node does not accept its transaction. Null otherwise.',
    }),
    reviewCause: t.expose('reviewCause', {
      type: SubmissionReviewCause,
      nullable: true,
      description: 'The reason why an operator has to decide. Null unless the state is NEEDS_REVIEW.',
    }),
    reviewVersion: t.string({
      nullable: true,
      description:
        'The version of what is to be decided, for `resolveSubmissionReview`. It changes with each review, and with its ' +
        'cause and reason. Null unless the state is NEEDS_REVIEW.',
      resolve: versionOfReview,
    }),
    foundOnNetwork: t.field({
      type: FoundOnNetworkRef,
      nullable: true,
      description:
        'The same call, made by another transaction that was found on the network. Read at query time. Null unless ' +
        'the state is NEEDS_REVIEW and such a transaction exists. Errors: LEDGER_UNAVAILABLE.',
      resolve: (submission, _args, { dependencies }) =>
        submission.state === 'NEEDS_REVIEW'
          ? findOnNetwork(dependencies.submission, intentOf(submission))
          : null,
    }),
    decisions: t.field({
      type: [SubmissionDecisionRef],
      description: 'The decisions of operators while the submission was under review, oldest first.',
      resolve: async ({ id }, _args, context) => (await decisionsOf(context, id)) ?? [],
    }),
    adoptedOutcome: t.exposeString('adoptedOutcome', {
      nullable: true,
      description: 'The outcome that an operator adopted from the network, as text. Null otherwise.',
    }),
    dueAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'The time the next step is due, in Unix seconds. Null unless the state is PENDING.',
      resolve: ({ dueAt, state }) => (state === 'PENDING' ? dueAt : null),
    }),
    createdAt: t.expose('createdAt', moment('The time the intent was committed')),
    settledAt: t.expose('settledAt', momentOrNull('The time the submission was settled')),
    transactions: t.field({
      type: [NetworkTransactionRef],
      description: "All signed transactions of the submission's target, oldest first.",
      resolve: ({ targetId }, _args, context) => readSigned(context, targetId),
    }),
  }),
});

const SubmissionFilterInput = filterInput('SubmissionFilter', 'A submission', (t) => ({
  states: t.field({ type: [SubmissionStateEnum], description: 'Only submissions in one of these states.' }),
  kinds: t.field({ type: [NetworkCallKindEnum], description: 'Only submissions of one of these kinds.' }),
  reviewCauses: t.field({
    type: [SubmissionReviewCause],
    description: 'Only submissions in NEEDS_REVIEW for one of these causes.',
  }),
  stuck: t.boolean({
    description: `true: only stuck submissions (${STUCK_RULE}); false: only the other submissions.`,
  }),
  ...within(t, 'submissions committed'),
}));

builder.queryField('submission', (t) =>
  t.field({
    ...forRoles(['operator'], 'The submission with this id. Null when no such submission exists.'),
    type: SubmissionRef,
    args: idOf(SubmissionRef, 'submission'),
    resolve: (_root, { id }, { dependencies }) => findSubmission(dependencies, id.id),
  }),
);

addList('submissions', SubmissionRef, {
  ...forRoles(['operator'], 'A paginated list of submissions, oldest first.'),
  filter: SubmissionFilterInput,
  filtered: 'Filters the submissions. All are listed when omitted.',
  list: listSubmissions,
});

function targetOf(context: Context, { targetType, targetId }: Submission) {
  switch (targetType) {
    case 'PROJECT':
      return projectOf(context, targetId);
    case 'RETIREMENT':
      return findRetirement(context.dependencies, targetId);
    case 'RECEIPT':
      return receiptOf(context, targetId);
    case 'OFF_RAMP_SESSION':
      return sessionOf(context, targetId);
    case 'HOLDER_ACT':
      return actOf(context, targetId);
    case 'SETTLEMENT_DEPLOYMENT':
      return null;
  }
}
