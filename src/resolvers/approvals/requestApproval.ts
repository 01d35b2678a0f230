/**
 * Asks for a second person's approval of an operation that needs it, instead of running the operation.
 */
import { isDeepStrictEqual } from 'node:util';
import { and, desc, eq, sql } from 'drizzle-orm';
import { lockName } from '../../db/advisoryLock.ts';
import type { Tx } from '../../db/connection.ts';
import { TRANSACTION_TIME } from '../../db/databaseTime.ts';
import { approvalRequests } from '../../db/tables/index.ts';
import type { Caller } from '../../identity/roles.ts';
import { DomainError } from '../../lib/errors.ts';
import { encodeExact } from '../../ledger/submission/exactJson.ts';
import { addManualStatus, requirePayable } from '../../ramp/manual/manualStatuses.ts';
import {
  assetIdOf,
  checkedProject,
  projectRequest,
  type CreateProjectInput,
} from '../carbon/createProject.ts';
import { findProjectByAsset } from '../carbon/findProject.ts';
import type { Needs } from '../core/dependencies.ts';
import {
  findFirstUseOrBegin,
  givenMembers,
  reserveKey,
  type IdempotentRequest,
} from '../core/idempotency.ts';
import { depositRequest } from '../warehouse/createDeposit.ts';
import { requireSeen } from '../operations/reviewVersion.ts';
import { lockPayout, readBasis } from './approvalBasis.ts';
import { needsApproval } from './approvalPolicy.ts';
import {
  findApprovalRequest,
  findOpenRequest,
  isOpen,
  type ApprovalRequest,
  type AskedOperation,
} from './approvalRequests.ts';

type RequestNeeds = Needs<'db' | 'network' | 'clock' | 'ids' | 'ramp' | 'manualRamp' | 'approvalPolicy'>;

/** Maximum open requests of one person: more than people decide while a request lasts. */
const MAX_AWAITING = 1_000;

/**
 * A repeated request gets the same request for approval in its present state: with the same idempotency key,
 * or from the same person while it awaits approval.
 * @param check whether there is something to approve; throws what the operation would throw
 * @returns null when the operation needs no approval, or when the request of its idempotency key was
 *   approved: the operation then gives the answer
 * @throws DomainError CONFLICT, NOT_FOUND when there is nothing to approve; IDEMPOTENCY_CONFLICT;
 *   RATE_LIMITED
 */
export async function requestApproval(
  deps: RequestNeeds,
  caller: Caller,
  asked: AskedOperation,
  check: () => Promise<boolean> = async () => true,
): Promise<ApprovalRequest | null> {
  const keyed = keyOf(deps, caller, asked);
  const begin = async () => {
    if (!needsApproval(deps.approvalPolicy, asked) || !(await check())) return null;
    return deps.db.transaction((tx) => insertOnce(tx, deps, caller, asked, keyed));
  };
  const id = await (keyed ? findFirstUseOrBegin(deps.db, keyed, begin) : begin());
  // If the first use needed no approval, no request has this id.
  const request = id === null ? null : await findApprovalRequest(deps, id);
  // Without a key, an approved request is returned: with null, one person alone would decide again.
  return keyed !== null && request?.state === 'APPROVED' ? null : request;
}

/**
 * Asks for approval of createProject, with its checks. An existing project needs none: createProject answers.
 */
export function requestProjectApproval(
  deps: RequestNeeds,
  caller: Caller,
  asked: CreateProjectInput,
): Promise<ApprovalRequest | null> {
  const input = checkedProject(asked);
  const isNew = async () => (await findProjectByAsset(deps, assetIdOf(input))) === null;
  return requestApproval(deps, caller, { operation: 'createProject', input }, isNew);
}

function keyOf(deps: Needs<'network'>, caller: Caller, asked: AskedOperation): IdempotentRequest | null {
  if (asked.operation === 'createProject') return projectRequest(caller.subject, asked.input);
  return asked.operation === 'createDeposit' ? depositRequest(deps, caller.subject, asked.input) : null;
}

/** @returns the id of the request that the key or the same operation has already, or of the new one */
async function insertOnce(
  tx: Tx,
  deps: RequestNeeds,
  caller: Caller,
  asked: AskedOperation,
  keyed: IdempotentRequest | null,
): Promise<string> {
  const id = deps.ids.next();
  const first = keyed && (await reserveKey(tx, keyed, id));
  if (first) return first;
  await checkAndHoldPayout(tx, deps, caller, asked);
  const { targetId, basis, version } = await readBasis(tx, deps, asked, id);
  const { operation } = asked;
  // Stored with its null members: the operation runs with the same input as without an approval.
  const input = encodeExact(asked.input);
  // Of two concurrent requests about the same target, the second one sees the first.
  await lockName(tx, `approval:${operation}:${targetId}`);
  const open = await findOpenRequest(tx, { operation, targetId });
  if (open) {
    if (open.requestedBy === caller.subject && isSameInput(open.input, input)) return open.id;
    throw new DomainError(
      'CONFLICT',
      `${operation} awaits approval already, as asked for by ${open.requestedBy}: that request has to be approved, refused or withdrawn first.`,
      { approvalRequestId: open.id },
    );
  }
  if ('reviewVersion' in asked.input || 'signingHaltVersion' in asked.input)
    requireSeen(asked.input, version);
  await limitAwaiting(tx, caller.subject);
  const lifetime = sql`make_interval(secs => ${deps.approvalPolicy.lifetimeSeconds})`;
  await tx.insert(approvalRequests).values({
    id,
    operation,
    input,
    targetId,
    basis,
    requestedBy: caller.subject,
    requestedWithKey: caller.apiKeyId,
    requestedAt: TRANSACTION_TIME,
    expiresAt: sql`${TRANSACTION_TIME} + ${lifetime}`,
  });
  return id;
}

/** Two encoded inputs. */
function isSameInput(first: unknown, repeated: unknown): boolean {
  const given = (input: unknown) => new Map(givenMembers(input as object));
  return isDeepStrictEqual(given(first), given(repeated));
}

/**
 * Limits a person's open requests: people look at each one, and must find those of others among them.
 * @throws DomainError RATE_LIMITED with `retryAfterSeconds`
 */
async function limitAwaiting(tx: Tx, requestedBy: string): Promise<void> {
  const { expiresAt } = approvalRequests;
  const [oldest] = await tx
    .select({ leftSeconds: sql<number>`ceil(extract(epoch FROM ${expiresAt} - now()))::int` })
    .from(approvalRequests)
    .where(and(eq(approvalRequests.requestedBy, requestedBy), isOpen))
    .orderBy(desc(expiresAt))
    .offset(MAX_AWAITING - 1)
    .limit(1);
  if (!oldest) return;
  throw new DomainError(
    'RATE_LIMITED',
    `${MAX_AWAITING} requests for approval that you made await a decision: have some decided, withdraw some, or try again in ` +
      `${oldest.leftSeconds} s.`,
    { limit: MAX_AWAITING, retryAfterSeconds: oldest.leftSeconds },
  );
}

/**
 * Refuses to make an ended payout pending again: the request could never be granted, and would block others.
 * A payout that one person reports as made is set to processing, because a pending one could be cancelled
 * before another person confirms.
 * @throws DomainError CONFLICT, NOT_FOUND
 */
async function checkAndHoldPayout(
  tx: Tx,
  deps: RequestNeeds,
  caller: Caller,
  asked: AskedOperation,
): Promise<void> {
  if (asked.operation !== 'setManualSessionStatus') return;
  const { sessionId, status } = asked.input;
  const session = await lockPayout(tx, deps, sessionId);
  requirePayable(session, { status, setBy: caller.subject });
  if (session.status !== 'pending' || (status !== 'settled' && status !== 'refunded')) return;
  await addManualStatus(tx, session, { status: 'processing', setBy: caller.subject }, deps.clock.now());
}
