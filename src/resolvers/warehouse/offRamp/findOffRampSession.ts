/**
 * Finds off-ramp sessions and their two histories: the provider's here, the network's with `readTransactions`
 * (findRetirement.ts) under the session's id.
 */
import { and, eq, type SQL } from 'drizzle-orm';
import { finderOf, findersOf, requireById } from '../../../db/findByIds.ts';
import { isAmongLatest } from '../../../db/manyRows.ts';
import {
  ENDED_OFF_RAMP_STATES,
  offRampProviderStatuses,
  offRampReviews,
  offRampSessions,
} from '../../../db/tables/index.ts';
import type { OffRampDeposit } from '../../../ledger/network/port.ts';
import { toBaseUnits } from '../../../ledger/units.ts';
import { groupBy } from '../../../lib/groupBy.ts';
import type { Needs } from '../../core/dependencies.ts';
import type { FollowedKind } from '../../core/changeFollower.ts';

export type OffRampSession = typeof offRampSessions.$inferSelect;
/** Why a session was closed without a deposit. */
export type StopReason = Pick<OffRampSession, 'refusalCode' | 'stateReason'>;
export type OffRampState = OffRampSession['state'];
export type OffRampReview = typeof offRampReviews.$inferSelect;
export type ProviderStatus = typeof offRampProviderStatuses.$inferSelect;

type Finder = Needs<'db'>;

export const findOffRampSession = finderOf(offRampSessions);
export const findOffRampSessionsByIds = findersOf(offRampSessions);

export function hasEnded({ state }: Pick<OffRampSession, 'state'>): boolean {
  return ENDED_OFF_RAMP_STATES.some((ended) => ended === state);
}

/** How subscribers follow sessions. A late callback may reopen an ended session, for an operator. */
export const FOLLOWED_SESSIONS: FollowedKind<OffRampSession> = {
  findMany: findOffRampSessionsByIds,
  hasEnded,
  hidden: ['dueAt', 'fruitlessSteps', 'hints'],
};

/** Reads a session that the caller knows to exist. */
export function requireOffRampSession(deps: Finder, id: string): Promise<OffRampSession> {
  return requireById(deps.db, offRampSessions, id);
}

/** The session of that provider with its id; the same id at another provider is another session. */
export function isAtProvider(providerName: string, providerSessionId: string): SQL | undefined {
  return and(
    eq(offRampSessions.providerName, providerName),
    eq(offRampSessions.providerSessionId, providerSessionId),
  );
}

export async function findOffRampSessionAtProvider(
  deps: Needs<'db' | 'ramp'>,
  providerSessionId: string,
): Promise<OffRampSession | null> {
  const [session] = await deps.db
    .select()
    .from(offRampSessions)
    .where(isAtProvider(deps.ramp.name, providerSessionId));
  return session ?? null;
}

/** Maximum entries of a history, the newest ones; only a misbehaving provider causes more. */
const MAX_HISTORY = 100;

/** The statuses that the provider has reported of each session, oldest first; few, as providers have five. */
export async function readProviderStatuses(
  deps: Finder,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, ProviderStatus[]>> {
  const { offRampSessionId, number } = offRampProviderStatuses;
  const rows = await deps.db
    .select()
    .from(offRampProviderStatuses)
    .where(isAmongLatest(offRampSessionId, sessionIds, { latest: [number], limit: MAX_HISTORY }))
    .orderBy(number);
  return groupBy(rows, (row) => row.offRampSessionId);
}

/** Why each session was flagged, and who decided what; oldest first. */
export async function readReviews(
  deps: Finder,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, OffRampReview[]>> {
  const { offRampSessionId, openedAt } = offRampReviews;
  const rows = await deps.db
    .select()
    .from(offRampReviews)
    .where(isAmongLatest(offRampSessionId, sessionIds, { latest: [openedAt], limit: MAX_HISTORY }))
    .orderBy(openedAt);
  return groupBy(rows, (row) => row.offRampSessionId);
}

/** A used reference doesn't prove that the deposit is as agreed. */
export function isAsAgreed(session: OffRampSession, found: OffRampDeposit): boolean {
  return (
    found.depositor === session.depositorAddress &&
    found.tokenAddress === session.tokenAddress &&
    found.amount === toBaseUnits(session.tokenAmountKg)
  );
}

/** Tokens of the receipt that a holder's session has to account for, in any amount and from any depositor. */
export function isOfHolder({ depositor, tokenAddress }: OffRampSession, found: OffRampDeposit): boolean {
  return depositor === 'HOLDER' && found.tokenAddress === tokenAddress;
}

/**
 * Describes a release that a restored database does not know. Null unless the agreed deposit was made and
 * released.
 */
export function endedUnseen(session: OffRampSession, found: OffRampDeposit | null): string | null {
  if (session.depositedAt !== null || found === null || !isAsAgreed(session, found)) return null;
  const { status } = found;
  const isReleased = status === 'SETTLED' || status === 'REFUNDED';
  return isReleased
    ? `the settlement contract shows ${status} of a deposit that this database does not know`
    : null;
}

/** Whether the provider has paid while the tokens are not deposited: the platform's possible loss. */
export function isExposed(session: OffRampSession): boolean {
  return session.providerStatus === 'settled' && session.depositedAt === null;
}

/** Whether a release is decided but not done, and under review: because of a pause, or for another reason. */
export function isUnreleasedReview({ state, resolution, releasedAt }: OffRampSession): boolean {
  return state === 'NEEDS_REVIEW' && resolution !== null && releasedAt === null;
}

/** Whether the session is under review, and a holder's deposit would end the review. */
export function isUndepositedReview(session: OffRampSession): boolean {
  const { state, depositedAt, providerSessionId } = session;
  return (
    state === 'NEEDS_REVIEW' &&
    session.depositor === 'HOLDER' &&
    depositedAt === null &&
    providerSessionId !== null
  );
}

/**
 * Whether a deposit may come that no process waits for: every account that knows the reference can deposit.
 */
export function mayBeDepositedLate(session: OffRampSession): boolean {
  return session.state === 'CLOSED' && session.depositor === 'HOLDER' && session.providerSessionId !== null;
}
