/**
 * ApprovalRequest: an operation that waits for a second person, and the list of requests.
 */
import { findProjectById } from '../../resolvers/carbon/findProject.ts';
import {
  askedOf,
  findApprovalRequest,
  listApprovalRequests,
  type ApprovalOperation,
  type ApprovalRequest,
} from '../../resolvers/approvals/approvalRequests.ts';
import type { Caller } from '../../identity/roles.ts';
import { findSubmission } from '../../resolvers/operations/listSubmissions.ts';
import { ProjectRef } from '../carbon/project.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { isOperator, maySeeWarehouse } from '../core/caller.ts';
import type { Context } from '../core/context.ts';
import { anyOf, filterInput, within } from '../core/filters.ts';
import { addList } from '../core/lists.ts';
import { subject } from '../core/text.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { visible } from '../core/visible.ts';
import { SubmissionRef } from '../operations/submission.ts';
import { findVisibleSession, OffRampSessionRef } from '../warehouse/offRampSession.ts';
import { findVisibleReceipt, ReceiptRef } from '../warehouse/receipt.ts';
import { moment, momentOrNull } from '../core/time.ts';

const ApprovalOperationEnum = enumOf<ApprovalOperation>(
  'ApprovalOperation',
  'A mutation that can require the approval of a second person.',
  {
    createProject: '`createProject` for more tonnes than one person may mint.',
    createDeposit: '`createDeposit` for more kilograms than one person may mint.',
    resolveSubmissionReview: 'The mutation `resolveSubmissionReview`.',
    resolveOffRampSessionReview: 'The mutation `resolveOffRampSessionReview`.',
    resumeSigning: 'The mutation `resumeSigning`.',
    setManualSessionStatus: '`setManualSessionStatus` with any status except PROCESSING.',
  },
);

const ApprovalStateEnum = enumOf('ApprovalRequestState', 'The state of a request for approval.', {
  AWAITING: 'Nothing has been done yet: a second person has to decide.',
  APPROVED: 'A second person approved the request, and the operation was done once.',
  REFUSED: 'Another person refused the request; nothing was done.',
  WITHDRAWN: 'The requester withdrew the request; nothing was done.',
  EXPIRED: 'The request expired before a decision; nothing was done.',
});

const ApprovalTarget = builder.unionType('ApprovalTarget', {
  description: 'The object that a request for approval is about.',
  types: [ProjectRef, ReceiptRef, SubmissionRef, OffRampSessionRef],
  resolveType: (target) => {
    if ('providerName' in target) return OffRampSessionRef;
    if ('warehouseId' in target) return ReceiptRef;
    return 'call' in target ? SubmissionRef : ProjectRef;
  },
});

const ApprovalInputValueRef = builder
  .objectRef<{ name: string; value: string }>('ApprovalInputValue')
  .implement({
    description: 'One value of the input of an operation that awaits approval.',
    fields: (t) => ({
      name: t.exposeString('name', {
        description:
          'The path of the value in the input, separated by dots, such as `quantityKg` or `pricePerTonne.amount`.',
      }),
      value: t.exposeString('value', { description: 'The value, as text.' }),
    }),
  });

export const ApprovalRequestRef = builder.objectRef<ApprovalRequest>('ApprovalRequest');

/**
 * The requester of a deposit still needs access to its warehouse: another credential of the same subject may
 * name other warehouses.
 */
export function maySeeApproval(caller: Caller | null, request: ApprovalRequest): boolean {
  if (isOperator(caller)) return true;
  const { operation, input } = askedOf(request);
  return (
    caller?.subject === request.requestedBy &&
    (operation !== 'createDeposit' || maySeeWarehouse(caller, input.warehouseId))
  );
}

builder.node(ApprovalRequestRef, {
  ...ownedBy<ApprovalRequest>(ownersOfInput),
  description:
    'A request for approval: an operation that runs when someone other than its requester approves it with ' +
    '`grantApproval`. Visible to its requester and to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: visible(findApprovalRequest, maySeeApproval),
  fields: (t) => ({
    operation: t.expose('operation', {
      type: ApprovalOperationEnum,
      description: 'The operation that awaits approval.',
    }),
    input: t.field({
      type: [ApprovalInputValueRef],
      description: 'The complete input that the operation will run with. Omitted members are not listed.',
      resolve: (request) => valuesOf(askedOf(request).input),
    }),
    target: t.field({
      type: ApprovalTarget,
      nullable: true,
      description:
        'The object that the request is about. Null for RESUME_SIGNING, for an object that is created only after ' +
        'the approval, and when the caller may not see the object.',
      resolve: (request, _args, context) => targetOf(context, request),
    }),
    state: t.expose('state', { type: ApprovalStateEnum, description: 'The state of the request.' }),
    requestedBy: t.exposeString('requestedBy', { description: 'The subject who requested the operation.' }),
    requestedAt: t.expose('requestedAt', moment('The time the approval was requested')),
    expiresAt: t.expose(
      'expiresAt',
      moment("The time the request expires unless it is decided, by the database's clock"),
    ),
    decidedBy: t.exposeString('decidedBy', {
      nullable: true,
      description: 'The subject who approved, refused or withdrew the request. Null until then.',
    }),
    decidedAt: t.expose('decidedAt', momentOrNull('The time the request was decided')),
    refusalReason: t.exposeString('refusalReason', {
      nullable: true,
      description: 'The reason of `decidedBy`. Null unless the request was refused or withdrawn.',
    }),
  }),
});

/**
 * A deposit's input has the owners of the future receipt. The other operations are the platform's, or their
 * target has its own owners.
 */
function ownersOfInput(request: ApprovalRequest): (string | null)[] {
  const { operation, input } = askedOf(request);
  return operation === 'createDeposit' ? [input.farmerId ?? null, input.warehouseId] : [];
}

function valuesOf(input: object, path = ''): { name: string; value: string }[] {
  return Object.entries(input).flatMap(([name, value]: [string, unknown]) => {
    if (value === null || value === undefined) return [];
    if (typeof value === 'object') return valuesOf(value, `${path}${name}.`);
    return [{ name: `${path}${name}`, value: typeof value === 'string' ? value : `${value as bigint}` }];
  });
}

/** Applies the rules of the target: the requester may have another role by now. */
async function targetOf(context: Context, { operation, targetId }: ApprovalRequest) {
  const { caller, dependencies } = context;
  if (targetId === null) return null;
  switch (operation) {
    case 'createProject':
      return findProjectById(dependencies, targetId);
    case 'createDeposit':
      return findVisibleReceipt(targetId, context);
    case 'resolveSubmissionReview':
      return isOperator(caller) ? findSubmission(dependencies, targetId) : null;
    case 'resolveOffRampSessionReview':
    case 'setManualSessionStatus':
      return findVisibleSession(targetId, context);
    case 'resumeSigning':
      return null;
  }
}

/** The field `approvalRequest` of each payload whose mutation can need approval. */
export const APPROVAL = {
  type: ApprovalRequestRef,
  nullable: true,
  description:
    'The request for approval that was made instead. The mutation runs when another person approves the ' +
    'request, which `state` shows. Null when no approval was needed, and when a repeated request is approved ' +
    'already.',
} as const;

const ApprovalFilterInput = filterInput('ApprovalRequestFilter', 'A request for approval', (t) => ({
  states: t.field({ type: [ApprovalStateEnum], description: 'Only requests in one of these states.' }),
  operations: t.field({
    type: [ApprovalOperationEnum],
    description: 'Only requests for one of these operations.',
  }),
  requesters: t.stringList(anyOf('requests by one of these subjects', subject)),
  ...within(t, 'requests made'),
}));

addList('approvalRequests', ApprovalRequestRef, {
  ...forRoles(['operator'], 'A paginated list of requests for approval, newest first.'),
  filter: ApprovalFilterInput,
  filtered: 'Filters the requests. All are listed when omitted.',
  list: listApprovalRequests,
});
