/**
 * pollOpenSessions: looks at cash-out sessions when they are due, so that webhooks which never come are made up
 * for. A hint only makes a session due at once. Any number of instances may run it.
 */
import { eq, sql } from 'drizzle-orm';
import { claimDue } from '../db/claimDue.ts';
import { backoffMs, createDueWorker, type DueWorker } from '../db/dueWorker.ts';
import { cashOutSessions } from '../db/schema/index.ts';
import { messageOf } from '../errors.ts';
import { NEW_SUBMISSION } from '../ledger/submission/submission.ts';
import { AFTERMATH_INTERVAL_SECONDS, CASH_OUTS } from './cashOutMoves.ts';
import type { Dependencies } from './dependencies.ts';
import { isByHolder, type CashOut } from './findCashOut.ts';
import { isUndepositedReview, lateDepositLookMs, mayBeDepositedLate } from './stepHolderCashOut.ts';
import { stepCashOut } from './stepCashOut.ts';

/** Longer than any step: a few calls to the provider and the network, each with a time-out well below. */
const CLAIM_SECONDS = 120;
const MAX_CONCURRENT_STEPS = 8;
/** While something of ours waits for the provider. */
const URGENT = { firstMs: 250, longestMs: 15_000 };
/** While the provider pays: minutes for mobile money, days for banks. Hints are faster. */
const PATIENT = { firstMs: 2_000, longestMs: 10 * 60_000 };
/** While a holder is to sign: they may send the deposit by themselves, too. */
const SIGNING = { firstMs: 1_000, longestMs: 15_000 };
/** Providers take payouts back within days, if at all. */
const AFTERMATH_MS = 72 * 60 * 60_000;

export function createSessionPoller(deps: Dependencies): DueWorker {
  return createDueWorker({
    name: 'cash-out sessions',
    bell: deps.subjects,
    bellKey: CASH_OUTS,
    maxConcurrent: MAX_CONCURRENT_STEPS,
    claim: (limit) => claim(deps, limit),
    carry: (session) => carry(deps, session),
    log: deps.log,
  });
}

/** Sessions of another provider wait until that one is configured again. */
function claim({ db, ramp }: Dependencies, limit: number): Promise<CashOut[]> {
  return claimDue(db, cashOutSessions, {
    condition: eq(cashOutSessions.providerName, ramp.name),
    limit,
    claimSeconds: CLAIM_SECONDS,
  });
}

async function carry(deps: Dependencies, session: CashOut): Promise<void> {
  try {
    await stepCashOut(deps, session);
  } catch (error) {
    // Unknown, so nothing changes: the next look is the same.
    deps.log.warn({ cashOutId: session.id, error: messageOf(error) }, 'cash-out step failed');
  }
  try {
    await putBack(deps, session);
  } catch (error) {
    // The claim runs out by itself.
    deps.log.error({ cashOutId: session.id, error: messageOf(error) }, 'putting back a cash-out failed');
  }
}

/** Decides when to look next, from where the session stands now: effects and hints may have moved it meanwhile. */
async function putBack(deps: Dependencies, claimed: CashOut): Promise<void> {
  const session = await deps.db.transaction(async (tx) => {
    const [current] = await tx
      .select()
      .from(cashOutSessions)
      .where(eq(cashOutSessions.id, claimed.id))
      .for('update');
    if (!current) return null;
    const isUnchanged = current.state === claimed.state && current.hints === claimed.hints;
    const fruitlessSteps = isUnchanged ? claimed.fruitlessSteps + 1 : 0;
    const delayMs = current.hints === claimed.hints ? nextLookMs(deps, current, fruitlessSteps) : 0;
    await tx
      .update(cashOutSessions)
      .set({
        dueAt: delayMs === null ? null : sql`now() + make_interval(secs => ${delayMs / 1000})`,
        fruitlessSteps,
      })
      .where(eq(cashOutSessions.id, claimed.id));
    return current;
  });
  if (session && session.state !== claimed.state) ringAll(deps, session);
}

/** Null when only a hint, the network or an operator can change anything. */
function nextLookMs(deps: Dependencies, session: CashOut, fruitlessSteps: number): number | null {
  const { random } = deps.submission;
  switch (session.state) {
    case 'OPENING':
    case 'CLOSING':
      return fruitlessSteps === 0 ? 0 : backoffMs(fruitlessSteps, URGENT, random);
    case 'AWAITING_PAYOUT':
      return fruitlessSteps === 0 ? 0 : backoffMs(fruitlessSteps, PATIENT, random);
    case 'AWAITING_SIGNATURE':
      return backoffMs(fruitlessSteps, SIGNING, random);
    case 'DEPOSITING':
      // What a holder signed may wait for ever, and custody's deposit for its turn; else it goes on by itself.
      return isByHolder(session) || deps.network.depositsNeedApproval
        ? backoffMs(fruitlessSteps, PATIENT, random)
        : null;
    case 'CONFIRMING':
    case 'REFUNDING':
      return null;
    case 'NEEDS_REVIEW':
      return isUndepositedReview(session) ? backoffMs(fruitlessSteps, PATIENT, random) : null;
    case 'SETTLED':
    case 'REFUNDED':
    case 'REFUSED': {
      if (session.providerSessionId === null) return null;
      const sinceMs = deps.clock.now().getTime() - (session.closedAt?.getTime() ?? 0);
      if (mayBeDepositedLate(session)) return lateDepositLookMs(sinceMs);
      return sinceMs < AFTERMATH_MS ? AFTERMATH_INTERVAL_SECONDS * 1000 : null;
    }
  }
}

/** Those who wait for the session, and the workers that may have something to do for it. */
function ringAll(deps: Dependencies, session: CashOut): void {
  if (session.state === 'NEEDS_REVIEW')
    deps.log.error({ cashOutId: session.id }, 'a cash-out needs an operator');
  for (const key of [session.id, CASH_OUTS, NEW_SUBMISSION]) deps.subjects.ring(key);
}
