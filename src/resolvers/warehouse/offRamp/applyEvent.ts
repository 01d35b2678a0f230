/**
 * The only writer of an off-ramp session's state. It runs on a row that the caller has locked, in one
 * transaction with the intent that follows from the move; a concurrent caller then finds the row moved.
 */
import { sql } from 'drizzle-orm';
import type { Tx } from '../../../db/connection.ts';
import { updateById } from '../../../db/findByIds.ts';
import { offRampReviews, offRampSessions } from '../../../db/tables/index.ts';
import { enqueueDeposit } from './custodyDeposits.ts';
import type { OffRampSession, OffRampState } from './findOffRampSession.ts';
import {
  closeReview,
  enqueueCall,
  findOpenReview,
  NEW_VERSION,
  requireOpenAtProvider,
  type OffRampSessionChanges,
  type MoveDependencies,
  type OpenedOffRampSession,
} from './offRampMoves.ts';
import { firstPoll } from './schedules.ts';
import { factsOf, matchingTransitions, type OffRampEvent, type Transition } from './transitions.ts';

export interface EventDetails {
  /** Other columns to write with the new state; moments are the database's, as SQL. */
  values?: OffRampSessionChanges;
  /** For operators; needed by every move to NEEDS_REVIEW. */
  reason?: string;
  /** The state that the session would be in without the review. */
  stateBefore?: OffRampState;
  /** Whether a submission of its deposit, or of the allowance for it, is under way. */
  isUnderWay?: boolean;
}

/** @param session the locked row: facts are read from it. */
export async function applyEvent(
  tx: Tx,
  deps: MoveDependencies,
  session: OffRampSession,
  event: OffRampEvent,
  { values = {}, reason, stateBefore = session.state, isUnderWay = false }: EventDetails = {},
): Promise<void> {
  const { next, effect } = transitionOf(session, event, isUnderWay);
  if (next === 'NEEDS_REVIEW') {
    if (reason === undefined) throw new Error(`off-ramp session ${session.id}: ${event} names no reason`);
    await openReview(tx, deps, session, reason, stateBefore);
  } else if (session.state === 'NEEDS_REVIEW') await closeReview(tx, session.id, null);

  const { dueAt = firstPoll(session, next), ...others } = values;
  const resolved = effect === 'release' ? { resolution: resolutionIn(next) } : {};
  const changes = {
    // A hint that no poll has answered stays due: after the end, the next poll would come an hour later.
    dueAt: sql`least(${offRampSessions.dueAt}, ${dueAt})`,
    ...others,
    ...resolved,
    state: next,
    reviewVersion: NEW_VERSION,
    fruitlessSteps: 0,
  };
  const moved = await updateById(tx, offRampSessions, session.id, changes);
  if (effect === 'deposit') await enqueueDeposit(tx, deps, requireOpenAtProvider(moved));
  else if (effect === 'release') await enqueueRelease(tx, deps, requireOpenAtProvider(moved));
}

function transitionOf(session: OffRampSession, event: OffRampEvent, isUnderWay: boolean): Transition {
  const { id, depositor, state } = session;
  const [row, another] = matchingTransitions(depositor, state, event, factsOf(session, isUnderWay));
  if (row !== undefined && another === undefined) return row;
  throw new Error(
    `off-ramp session ${id} is ${state}, deposited by ${depositor}: ${row ? 'several rows say' : 'no row says'} ` +
      `what "${event}" does (transitions.ts)`,
  );
}

/**
 * Flags the session for an operator. Deposited tokens stay in the settlement contract. A new reason closes
 * the open review: a decision requested or approved for the old reason does not apply to the new one.
 */
async function openReview(
  tx: Tx,
  deps: MoveDependencies,
  session: OffRampSession,
  reason: string,
  stateBefore: OffRampState,
): Promise<void> {
  const open = await findOpenReview(tx, session.id);
  if (open?.flaggedBecause === reason) return;
  if (open !== undefined) await closeReview(tx, session.id, null);
  await tx.insert(offRampReviews).values({
    id: deps.ids.next(),
    offRampSessionId: session.id,
    flaggedBecause: reason,
    stateBefore: open?.stateBefore ?? stateBefore,
    openedAt: sql`now()`,
  });
}

/** The decision about the deposited tokens. It is made once; a trigger refuses another one. */
function resolutionIn(state: OffRampState): 'SETTLE' | 'REFUND' {
  return state === 'CONFIRMING' ? 'SETTLE' : 'REFUND';
}

async function enqueueRelease(
  tx: Tx,
  deps: MoveDependencies,
  { id: targetId, providerSessionId: sessionId, resolution }: OpenedOffRampSession,
): Promise<void> {
  const kind = resolution === 'SETTLE' ? 'confirmOffRampSettlement' : 'refundOffRamp';
  await enqueueCall(tx, deps, targetId, { kind, sessionId });
}

/** Returns a late deposit to its depositor if the provider says "failed"; otherwise an operator decides. */
export async function giveBack(
  tx: Tx,
  deps: MoveDependencies,
  session: OffRampSession,
  values: OffRampSessionChanges = {},
): Promise<void> {
  const { providerStatus } = session;
  const deposited = { ...values, depositedAt: sql`now()` };
  await applyEvent(tx, deps, session, 'deposited', {
    values: providerStatus === 'failed' ? { ...deposited, endedAt: null } : deposited,
    reason: `deposited after it was closed, while the provider says "${providerStatus}"`,
  });
}
