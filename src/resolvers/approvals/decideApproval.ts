/**
 * grantApproval and refuseApproval: decisions about a request for approval.
 */
import { and, eq, inArray } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { DATABASE_NOW } from '../../db/databaseTime.ts';
import { apiKeys, approvalRequests } from '../../db/tables/index.ts';
import type { Caller } from '../../identity/roles.ts';
import { DomainError } from '../../lib/errors.ts';
import { notVisible } from '../../lib/notFound.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import { readBasis } from './approvalBasis.ts';
import { askedOf, findApprovalRequest, isOpen, type ApprovalRequest } from './approvalRequests.ts';

const REQUEST_FIELD = 'input.approvalRequestId';

type DecideNeeds = Needs<'db' | 'ramp' | 'manualRamp'>;

/**
 * Runs the operation of a request. The transaction of the operation's effect ends the request, so the
 * operation takes effect once, however many people approve at a time and wherever a process stops. If it
 * fails before that, the request awaits approval as before. The approver may repeat a grant whose answer was
 * lost.
 * @param run the operation, as the requester asked for it
 * @throws DomainError NOT_FOUND, FORBIDDEN (not a second person), CONFLICT; and what the operation throws
 */
export async function grantApproval(
  deps: DecideNeeds,
  caller: Caller,
  id: string,
  run: (request: ApprovalRequest, grant: Grant) => Promise<unknown>,
): Promise<ApprovalRequest> {
  const request = await requireRequest(deps, id);
  await requireSecondPerson(deps.db, caller, request);
  if (request.state === 'APPROVED' && request.decidedBy === caller.subject) return request;
  if (request.state !== 'AWAITING') throw notAwaiting(request);
  let isDecidedHere = false;
  const confirm = async (tx: Tx) => {
    await decide(tx, caller, id, { state: 'APPROVED' });
    isDecidedHere = true;
    await requireSameBasis(tx, deps, request);
  };
  try {
    // The basis is checked again with the effect. This check covers what the operation does before its
    // effect.
    await deps.db.transaction((tx) => requireSameBasis(tx, deps, request));
    await run(request, { requestId: id, confirm });
  } catch (error) {
    // After this call has decided the request, an error is the operation's own outcome.
    const first = isDecidedHere ? null : await findDecision(deps, caller, id, 'APPROVED');
    if (first === null) throw asOfRequest(error);
    return first;
  }
  const now = await requireRequest(deps, id);
  // The operation had no effect, because another decision about its target came first.
  if (now.state === 'AWAITING') throw changedMeanwhile();
  return now;
}

/**
 * Reports an error about a field of the requested input as an error about the request: the approver's own
 * input is only the request's id.
 */
function asOfRequest(error: unknown): unknown {
  if (!(error instanceof DomainError) || error.details.field === undefined) return error;
  const details = { ...error.details, field: REQUEST_FIELD };
  return new DomainError(error.code, error.message, details, { cause: error });
}

/** The same decision by the same person, committed while a repeated one is made: it is why that one fails. */
async function findDecision(
  deps: Needs<'db'>,
  caller: Caller,
  id: string,
  state: Decision['state'],
): Promise<ApprovalRequest | null> {
  const request = await requireRequest(deps, id);
  return request.state === state && request.decidedBy === caller.subject ? request : null;
}

async function requireSameBasis(tx: Tx, deps: DecideNeeds, request: ApprovalRequest): Promise<void> {
  const { basis } = await readBasis(tx, deps, askedOf(request), request.id);
  if (basis !== request.basis) throw changedMeanwhile();
}

/** A refusal and its reason, which is stored with it. */
interface Refusal {
  approvalRequestId: string;
  reason: string;
}

/**
 * Refuses a request, by any operator, or withdraws it, by its requester. The reason of the first decision stays.
 * @param maySee whether the caller may see the request: a hidden one is neither refused nor returned
 * @throws DomainError NOT_FOUND, CONFLICT when the request no longer awaits approval
 */
export async function refuseApproval(
  deps: Needs<'db'>,
  caller: Caller,
  { approvalRequestId: id, reason }: Refusal,
  maySee: (request: ApprovalRequest) => boolean,
): Promise<ApprovalRequest> {
  const request = await requireRequest(deps, id);
  if (!maySee(request)) throw notVisible('request for approval', REQUEST_FIELD);
  const state = request.requestedBy === caller.subject ? 'WITHDRAWN' : 'REFUSED';
  try {
    await deps.db.transaction((tx) => decide(tx, caller, id, { state, refusalReason: reason }));
  } catch (error) {
    const first = await findDecision(deps, caller, id, state);
    if (first === null) throw error;
    return first;
  }
  return requireRequest(deps, id);
}

type Decision = { state: 'APPROVED' } | { state: 'REFUSED' | 'WITHDRAWN'; refusalReason: string };

/** The row lock orders decisions: the first one holds. */
async function decide(tx: Tx, caller: Caller, id: string, decision: Decision): Promise<void> {
  const [decided] = await tx
    .update(approvalRequests)
    .set({
      ...decision,
      decidedBy: caller.subject,
      decidedWithKey: caller.apiKeyId,
      decidedAt: DATABASE_NOW,
    })
    .where(and(eq(approvalRequests.id, id), isOpen))
    .returning({ id: approvalRequests.id });
  if (!decided) throw notAwaiting(await requireRequest({ db: tx }, id));
}

/**
 * Refuses the requester, and an API key whose creator is behind the request, because the creator of a key can
 * use it.
 * @throws DomainError FORBIDDEN
 */
async function requireSecondPerson(
  db: Pick<Db, 'select'>,
  caller: Caller,
  request: ApprovalRequest,
): Promise<void> {
  const keys = [caller.apiKeyId, request.requestedWithKey].filter((key) => key !== null);
  const makers = await db
    .select({ id: apiKeys.id, maker: apiKeys.createdBy })
    .from(apiKeys)
    .where(inArray(apiKeys.id, keys));
  const behind = (subject: string, keyId: string | null) =>
    new Set([subject, ...makers.filter(({ id }) => id === keyId).map(({ maker }) => maker)]);
  const requesters = behind(request.requestedBy, request.requestedWithKey);
  const approvers = behind(caller.subject, caller.apiKeyId);
  if ([...approvers].some((person) => requesters.has(person))) {
    throw new DomainError(
      'FORBIDDEN',
      `${request.operation} was asked for by ${request.requestedBy}: another person has to approve it, and not with an API ` +
        'key that the same administrator has made.',
    );
  }
}

async function requireRequest(deps: { db: Pick<Db | Tx, 'select'> }, id: string): Promise<ApprovalRequest> {
  const request = await findApprovalRequest(deps, id);
  if (!request) throw notVisible('request for approval', REQUEST_FIELD);
  return request;
}

function notAwaiting({ state, decidedBy }: ApprovalRequest): DomainError {
  const by = decidedBy === null ? '' : ` by ${decidedBy}`;
  return new DomainError('CONFLICT', `The request for approval is ${state}${by}, not AWAITING.`, {
    field: REQUEST_FIELD,
    state,
  });
}

function changedMeanwhile(): DomainError {
  return new DomainError(
    'CONFLICT',
    'What the request is about has changed since it was made: refuse it, look again, and ask for approval of a new decision.',
    { field: REQUEST_FIELD },
  );
}
