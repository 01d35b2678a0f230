/**
 * pollOpenSessions: polls off-ramp sessions when they are due, so that a lost webhook does no harm. A hint
 * only makes a session due immediately. Any number of instances may run it.
 */
import { and, eq, isNotNull, or, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { createDueWorker, type DueWorker } from '../../../db/dueWorker.ts';
import { createLeases, reschedule } from '../../../db/leases.ts';
import { offRampSessions } from '../../../db/tables/index.ts';
import { cacheAnswer } from '../../../lib/cacheAnswer.ts';
import { NEW_SUBMISSION } from '../../../ledger/submission/submission.ts';
import { OFF_RAMP_SESSIONS } from './offRampMoves.ts';
import type { Needs } from '../../core/dependencies.ts';
import { isRejected } from './askProvider.ts';
import { type OffRampSession } from './findOffRampSession.ts';
import { isMisdated, nextPollMs } from './schedules.ts';
import { stepOffRampSession, type StepNeeds } from './stepOffRampSession.ts';

const MAX_CONCURRENT_STEPS = 8;
/** How long the count of open payouts is reused: counting reads an index, and the count changes little. */
const OPEN_PAYOUTS_MAX_AGE_MS = 10_000;

type PollerNeeds = Needs<keyof StepNeeds | 'log'>;

export function createSessionPoller(deps: PollerNeeds): DueWorker {
  const { db, ramp, log } = deps;
  const caching = { maxAgeMs: OPEN_PAYOUTS_MAX_AGE_MS, clock: deps.submission.clock, cachesFailures: false };
  const countPayouts = cacheAnswer(caching, () =>
    db.$count(offRampSessions, eq(offRampSessions.state, 'AWAITING_PAYOUT')),
  );
  return createDueWorker({
    name: 'off-ramp sessions',
    idField: 'offRampSessionId',
    changeSignal: deps.stateSignal,
    signalKey: OFF_RAMP_SESSIONS,
    maxConcurrent: MAX_CONCURRENT_STEPS,
    leases: createLeases(db, offRampSessions, {
      isOpen: sql`${isNotNull(offRampSessions.dueAt)} AND ${or(eq(offRampSessions.providerName, ramp.name), waitsForNetwork)}`,
      isMisdated,
      onError: (error) => log.error({ err: error }, 'renewing or ending leases of off-ramp sessions failed'),
    }),
    process: (session) => processSession(deps, session, countPayouts),
    log,
  });
}

/**
 * Sessions of another provider wait until that provider is configured again, except those that the network
 * may move: by a deposit that lands late, or a release that a pause has blocked.
 */
const waitsForNetwork = and(
  isNotNull(offRampSessions.providerSessionId),
  or(
    eq(offRampSessions.state, 'NEEDS_REVIEW'),
    and(eq(offRampSessions.state, 'CLOSED'), eq(offRampSessions.depositor, 'HOLDER')),
  ),
);

async function processSession(
  deps: PollerNeeds,
  session: OffRampSession,
  countPayouts: () => Promise<number>,
): Promise<void> {
  let hasFailed = false;
  try {
    await stepOffRampSession(deps, session);
  } catch (error) {
    // The result is unknown, so nothing changes: the next poll is the same. A refusal is final: it will not
    // change soon.
    hasFailed = !isRejected(error);
    deps.log.warn({ offRampSessionId: session.id, err: error }, 'off-ramp session step failed');
  }
  await lookAgain(deps, session, { hasFailed, openPayouts: await countPayouts() });
}

/** Schedules the next poll from the session's present state, which effects and hints may have changed. */
async function lookAgain(
  deps: PollerNeeds,
  claimed: OffRampSession,
  step: { hasFailed: boolean; openPayouts: number },
): Promise<void> {
  const session = await deps.db.transaction(async (tx) => {
    const [found] = await tx
      .select({
        current: offRampSessions,
        sinceDepositedMs: msSince(offRampSessions.depositedAt),
        sinceEndedMs: msSince(offRampSessions.endedAt),
      })
      .from(offRampSessions)
      .where(eq(offRampSessions.id, claimed.id))
      .for('update');
    if (!found) return null;
    const { current, ...age } = found;
    const isHinted = current.hints !== claimed.hints;
    const isUnchanged = current.state === claimed.state && !isHinted;
    const fruitlessSteps = isUnchanged ? claimed.fruitlessSteps + 1 : 0;
    const { depositsNeedAllowance } = deps.network;
    const { random } = deps.submission;
    const now = { ...age, ...step, fruitlessSteps, depositsNeedAllowance, random };
    const delayMs = isHinted ? 0 : nextPollMs(current, now);
    await reschedule(tx, offRampSessions, claimed, { delayMs, values: { fruitlessSteps } });
    return current;
  });
  if (session && session.state !== claimed.state) notifyAll(deps, session);
}

/** Milliseconds since a moment, by the database's clock; 0 while the moment is null. */
function msSince(moment: PgColumn) {
  return sql`coalesce(extract(epoch FROM now() - ${moment}) * 1000, 0)`.mapWith(Number);
}

/** Notifies those who wait for the session or its receipt, and the workers that may have work for it. */
function notifyAll(deps: Needs<'stateSignal' | 'log'>, session: OffRampSession): void {
  if (session.state === 'NEEDS_REVIEW')
    deps.log.error({ offRampSessionId: session.id }, 'an off-ramp session needs an operator');
  for (const key of [session.id, session.receiptId, OFF_RAMP_SESSIONS, NEW_SUBMISSION])
    deps.stateSignal.notify(key);
}
