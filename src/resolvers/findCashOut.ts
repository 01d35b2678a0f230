/**
 * Finding cash-out sessions, with both of their histories: the provider's here, the network's in
 * `readTransactions` (findRetirement.ts) under the session's id.
 */
import { and, asc, eq } from 'drizzle-orm';
import { cashOutProviderStatuses, cashOutReviews, cashOutSessions } from '../db/schema/index.ts';
import type { OffRampDeposit } from '../ledger/network/port.ts';
import { toBaseUnits } from '../ledger/units.ts';
import type { RampStatus } from '../ramp/port.ts';
import type { Dependencies } from './dependencies.ts';

export type CashOut = typeof cashOutSessions.$inferSelect;
export type CashOutState = CashOut['state'];
export type CashOutReview = typeof cashOutReviews.$inferSelect;

type Finder = Pick<Dependencies, 'db'>;

export async function findCashOut(deps: Finder, id: string): Promise<CashOut | null> {
  const [session] = await deps.db.select().from(cashOutSessions).where(eq(cashOutSessions.id, id));
  return session ?? null;
}

/** By the id that the provider gave it; the same id at another provider is another session. */
export async function findCashOutAtProvider(
  deps: Finder & Pick<Dependencies, 'ramp'>,
  providerSessionId: string,
): Promise<CashOut | null> {
  const [session] = await deps.db
    .select()
    .from(cashOutSessions)
    .where(
      and(
        eq(cashOutSessions.providerName, deps.ramp.name),
        eq(cashOutSessions.providerSessionId, providerSessionId),
      ),
    );
  return session ?? null;
}

/** Every status the provider was seen in, oldest first; a handful, as providers have five. */
export async function readProviderStatuses(
  deps: Finder,
  sessionId: string,
): Promise<{ status: RampStatus; observedAt: Date }[]> {
  const { status, observedAt, position } = cashOutProviderStatuses;
  return deps.db
    .select({ status, observedAt })
    .from(cashOutProviderStatuses)
    .where(eq(cashOutProviderStatuses.sessionId, sessionId))
    .orderBy(asc(position))
    .limit(MAX_HISTORY);
}

/** What was flagged, and who decided what; oldest first. */
export async function readReviews(deps: Finder, sessionId: string): Promise<CashOutReview[]> {
  return deps.db
    .select()
    .from(cashOutReviews)
    .where(eq(cashOutReviews.sessionId, sessionId))
    .orderBy(asc(cashOutReviews.openedAt))
    .limit(MAX_HISTORY);
}

/** A history longer than this is of a provider that plays tricks. */
const MAX_HISTORY = 100;

/** Whether a holder deposits, by a signature of their own, instead of custody. */
export function isByHolder(session: Pick<CashOut, 'signUntil'>): boolean {
  return session.signUntil !== null;
}

/** A used reference doesn't prove that the deposit is what was agreed. */
export function isAsAgreed(session: CashOut, found: OffRampDeposit): boolean {
  return (
    found.depositor === session.depositorAddress &&
    found.tokenAddress === session.tokenAddress &&
    found.amount === toBaseUnits(session.tokenAmountKg)
  );
}

/** Paid by the provider while the tokens are not in custody: what the platform could lose. */
export function isExposed(session: CashOut): boolean {
  return session.providerStatus === 'settled' && session.depositedAt === null;
}
