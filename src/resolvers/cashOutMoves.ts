/**
 * The moves of a cash-out session from one state to the next. Each is made on a row that the caller has locked, in
 * one transaction with the intent that follows from it; whoever comes second finds the row moved.
 * The state diagram is in db/schema/ramp.ts.
 */
import { and, count, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { Clock, IdSource } from '../clock.ts';
import type { Tx } from '../db/connection.ts';
import { cashOutProviderStatuses, cashOutReviews, cashOutSessions } from '../db/schema/index.ts';
import type { HolderCall, LedgerNetwork, NetworkCall } from '../ledger/network/port.ts';
import { enqueueSubmission } from '../ledger/submission/enqueue.ts';
import { toBaseUnits } from '../ledger/units.ts';
import type { RampStatus } from '../ramp/port.ts';
import { isByHolder, type CashOut, type CashOutState } from './findCashOut.ts';

/** The subjects doorbell's key for "a cash-out session is due". */
export const CASH_OUTS = 'cash-outs';

export interface MoveDependencies {
  network: Pick<LedgerNetwork, 'depositsNeedApproval'>;
  clock: Clock;
  ids: IdSource;
}

/** A session that the provider knows. */
export type OpenedCashOut = CashOut & { providerSessionId: string };

export async function lockCashOut(tx: Tx, id: string): Promise<CashOut> {
  const [session] = await tx.select().from(cashOutSessions).where(eq(cashOutSessions.id, id)).for('update');
  if (!session) throw new Error(`cash-out session ${id} has vanished`);
  return session;
}

export function opened(session: CashOut): OpenedCashOut {
  const { providerSessionId } = session;
  if (providerSessionId === null)
    throw new Error(`cash-out session ${session.id} is not open at its provider`);
  return { ...session, providerSessionId };
}

/** Writes a new state; the session is looked at again at once where a look can change something. */
export async function moveTo(
  tx: Tx,
  session: CashOut,
  state: CashOutState,
  values: Partial<typeof cashOutSessions.$inferInsert> = {},
): Promise<void> {
  await tx
    .update(cashOutSessions)
    .set({ ...values, state, dueAt: firstLook(session, state), fruitlessSteps: 0 })
    .where(eq(cashOutSessions.id, session.id));
}

/** A payout may still turn around after its end, and the webhook that says so may be lost. */
export const AFTERMATH_INTERVAL_SECONDS = 3600;

/** What a holder may deposit late is looked for sooner than what a provider may take back. */
const LATE_DEPOSIT_SECONDS = 60;
/** The first look at a deposit that a holder signed, or owes: submission sees it land much sooner. */
const HOLDER_LOOK_SECONDS = 30;

function firstLook(session: CashOut, state: CashOutState) {
  const inSeconds = (seconds: number) => sql`now() + make_interval(secs => ${seconds})`;
  switch (state) {
    // In these the provider or the holder has the next word; elsewhere the network or an operator has it.
    case 'OPENING':
    case 'AWAITING_SIGNATURE':
    case 'CLOSING':
    case 'AWAITING_PAYOUT':
      return sql`now()`;
    // Custody's deposit goes on by itself, and its review is for people.
    case 'DEPOSITING':
    case 'NEEDS_REVIEW':
      return isByHolder(session) ? inSeconds(HOLDER_LOOK_SECONDS) : null;
    case 'REFUSED':
      return inSeconds(isByHolder(session) ? LATE_DEPOSIT_SECONDS : AFTERMATH_INTERVAL_SECONDS);
    case 'SETTLED':
    case 'REFUNDED':
      return inSeconds(AFTERMATH_INTERVAL_SECONDS);
    case 'CONFIRMING':
    case 'REFUNDING':
      return null;
  }
}

export function isOver(state: CashOutState): boolean {
  return state === 'SETTLED' || state === 'REFUNDED' || state === 'REFUSED';
}

/**
 * @returns whether this is news. Nothing leads back from an end to its beginning: an answer that says so was
 * on its way for too long.
 */
export async function recordStatus(
  tx: Tx,
  deps: MoveDependencies,
  session: CashOut,
  status: RampStatus,
): Promise<boolean> {
  const before = session.providerStatus;
  if (before === status || (isEnd(before) && !isEnd(status))) return false;
  const [known] = await tx
    .select({ count: count() })
    .from(cashOutProviderStatuses)
    .where(eq(cashOutProviderStatuses.sessionId, session.id));
  const position = known?.count ?? 0;
  await tx
    .insert(cashOutProviderStatuses)
    .values({ sessionId: session.id, position, status, observedAt: deps.clock.now() });
  await tx.update(cashOutSessions).set({ providerStatus: status }).where(eq(cashOutSessions.id, session.id));
  return true;
}

function isEnd(status: RampStatus | null): boolean {
  return status === 'settled' || status === 'failed' || status === 'refunded';
}

/** Exactly what the deposit takes, so that nothing is left for a later one to take by mistake. */
export function approvalCall(session: OpenedCashOut): HolderCall {
  const { tokenAddress } = session;
  return { kind: 'approve', tokenAddress, amount: toBaseUnits(session.tokenAmountKg) };
}

export function depositCall(session: OpenedCashOut): Extract<NetworkCall, { kind: 'initiateOffRamp' }> {
  const { providerSessionId: sessionId, tokenAddress } = session;
  const amount = toBaseUnits(session.tokenAmountKg);
  return { kind: 'initiateOffRamp', sessionId, tokenAddress, amount };
}

/** The one decision about the tokens in custody; a trigger refuses another one. */
export async function resolve(
  tx: Tx,
  deps: MoveDependencies,
  session: OpenedCashOut,
  resolution: 'SETTLE' | 'REFUND',
  values: Partial<typeof cashOutSessions.$inferInsert> = {},
): Promise<void> {
  const { id: subjectId, providerSessionId: sessionId } = session;
  const state = resolution === 'SETTLE' ? 'CONFIRMING' : 'REFUNDING';
  await moveTo(tx, session, state, { ...values, resolution });
  const kind = resolution === 'SETTLE' ? 'confirmOffRampSettlement' : 'refundOffRamp';
  await enqueueSubmission(tx, deps, { subjectId, call: { kind, sessionId } });
}

/** What was deposited after its session was closed. */
export async function giveBack(
  tx: Tx,
  deps: MoveDependencies,
  session: OpenedCashOut,
  values: Partial<typeof cashOutSessions.$inferInsert> = {},
): Promise<void> {
  const deposited = { ...values, depositedAt: deps.clock.now() };
  if (session.providerStatus === 'failed') {
    await resolve(tx, deps, session, 'REFUND', { ...deposited, closedAt: null });
    return;
  }
  const reason = `deposited after it was closed, while the provider says "${session.providerStatus}"`;
  await openReview(tx, deps, session, reason, deposited);
}

/** Flags the session for an operator. Nothing is lost: what is in custody stays there. */
export async function openReview(
  tx: Tx,
  deps: MoveDependencies,
  session: CashOut,
  reason: string,
  values: Partial<typeof cashOutSessions.$inferInsert> = {},
  stateBefore: CashOutState = session.state,
): Promise<void> {
  await tx
    .insert(cashOutReviews)
    .values({ id: deps.ids.next(), sessionId: session.id, reason, stateBefore, openedAt: deps.clock.now() })
    .onConflictDoNothing();
  await moveTo(tx, session, 'NEEDS_REVIEW', values);
}

/** Closes the open review, if there is one: by an operator's decision, or because the network decided after all. */
export async function closeReview(
  tx: Tx,
  sessionId: string,
  at: Date,
  decided: { decision: 'RETRY' | 'CONFIRM' | 'REFUND' | 'ACCEPT'; decidedBy: string; note: string } | null,
): Promise<void> {
  await tx
    .update(cashOutReviews)
    .set({ ...decided, closedAt: at })
    .where(and(eq(cashOutReviews.sessionId, sessionId), isNull(cashOutReviews.closedAt)));
}

/** Whether an operator has decided about what the provider said last. */
export async function isAcknowledged(tx: Tx, sessionId: string): Promise<boolean> {
  const [decided] = await tx
    .select({ id: cashOutReviews.id })
    .from(cashOutReviews)
    .where(
      and(
        eq(cashOutReviews.sessionId, sessionId),
        isNotNull(cashOutReviews.decision),
        sql`${cashOutReviews.closedAt} >= (SELECT max(s.observed_at) FROM ${cashOutProviderStatuses} s
          WHERE s.session_id = ${sessionId})`,
      ),
    );
  return decided !== undefined;
}

/**
 * What the provider must not say once the tokens are where they are; null when all agrees.
 * @param state where the session came, or is about to come, to its end
 */
export function contradiction(state: CashOutState, status: RampStatus | null): string | null {
  if (state === 'SETTLED' && (status === 'failed' || status === 'refunded')) {
    return `the provider says "${status}", but the tokens were released to the treasury`;
  }
  if (state === 'REFUNDED' && (status === 'settled' || status === 'refunded')) {
    return `the provider says "${status}", but the tokens were given back to the depositor`;
  }
  if (state === 'REFUSED' && (status === 'settled' || status === 'refunded')) {
    return `the provider says "${status}", but the tokens were never in custody`;
  }
  return null;
}
