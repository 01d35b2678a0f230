/**
 * Compares each off-ramp session with its provider's answer: the session behind the reference, its status,
 * and the amount paid.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { and, isNotNull, sql, type SQL } from 'drizzle-orm';
import pLimit from 'p-limit';
import type { Db } from '../db/connection.ts';
import { offRampProviderStatuses, offRampReviews, offRampSessions } from '../db/tables/index.ts';
import { DomainError } from '../lib/errors.ts';
import { MAX_PAUSE_MS } from '../lib/retryAfter.ts';
import type { RampProvider, RampSession } from '../ramp/port.ts';
import { describeOtherFiat } from '../ramp/quotedFiat.ts';
import { isAcknowledged } from './contradictions/offRampSessions.ts';
import { pagesById } from './pagesById.ts';
import { add, broken, nothingCompared, unproved, type Comparison, type NotProved } from './verdicts.ts';

export interface PayoutDependencies {
  db: Db;
  ramp: Pick<RampProvider, 'name' | 'findSessionByReference' | 'freeInMs'>;
  /** In an incremental run, the compared sessions. */
  offRampSessionIds?: readonly string[];
}

/** Requests under way at a time: a provider limits its callers. */
const MAX_CONCURRENT_QUESTIONS = 4;
/**
 * Maximum successive questions without an answer before the provider counts as unavailable; each lasts until
 * its timeout. A provider that is unavailable for seconds, or refuses all requests under way, skips nothing.
 */
const MAX_UNANSWERED = 3 * MAX_CONCURRENT_QUESTIONS;
const TRIES = 2;
const PAUSE_MS = 1_000;

type Session = Awaited<ReturnType<ReturnType<typeof selectSessions>>>[number];

interface Skipped {
  ofOthers: number;
  unanswered: number;
  refused: number;
  withoutAmount: number;
}

export async function reconcilePayouts(deps: PayoutDependencies, pauseMs = PAUSE_MS): Promise<Comparison> {
  const compared = nothingCompared();
  const skipped: Skipped = { ofOthers: 0, unanswered: 0, refused: 0, withoutAmount: 0 };
  const limit = pLimit(MAX_CONCURRENT_QUESTIONS);
  const find = createQuestion(deps.ramp, pauseMs);
  const ask = async (session: Session) => {
    if (session.providerName !== deps.ramp.name) {
      skipped.ofOthers += 1;
      return;
    }
    const answer = await find(session.id);
    if (answer === 'NO_ANSWER') skipped.unanswered += 1;
    else if (answer === 'REFUSED') skipped.refused += 1;
    else {
      add(compared, comparePayout(session, answer));
      if (answer !== null && answer.fiat?.amount === undefined) skipped.withoutAmount += 1;
    }
  };
  for await (const page of pagesById(offRampSessions.id, deps.offRampSessionIds, selectSessions(deps))) {
    await Promise.all(page.map((session) => limit(() => ask(session))));
  }
  compared.notProved.push(...describeSkipped(deps.ramp.name, skipped));
  return compared;
}

type Answer = RampSession | null | 'NO_ANSWER' | 'REFUSED';

/**
 * Asks each question a second time after a pause, and waits while the provider wants no requests, because
 * they would all fail.
 */
function createQuestion(
  ramp: PayoutDependencies['ramp'],
  pauseMs: number,
): (reference: string) => Promise<Answer> {
  /** Successive questions without an answer. */
  let unanswered = 0;
  return async (reference) => {
    for (let tries = 0; tries < TRIES; tries++) {
      if (unanswered >= MAX_UNANSWERED) return 'NO_ANSWER';
      const waitMs = Math.max(ramp.freeInMs?.() ?? 0, tries === 0 ? 0 : pauseMs);
      if (waitMs > 0) await delay(Math.min(waitMs, MAX_PAUSE_MS));
      const answer = await find(ramp, reference);
      if (answer !== 'NO_ANSWER') {
        unanswered = 0;
        return answer;
      }
    }
    unanswered += 1;
    return 'NO_ANSWER';
  };
}

async function find(ramp: PayoutDependencies['ramp'], reference: string): Promise<Answer> {
  try {
    return await ramp.findSessionByReference(reference);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return error.code === 'RAMP_REFUSED' ? 'REFUSED' : 'NO_ANSWER';
  }
}

const selectSessions =
  ({ db }: PayoutDependencies) =>
  (where: SQL | undefined) => {
    const { id, state, providerName, providerSessionId, providerStatus } = offRampSessions;
    const { fiatCurrency, fiatAmount, stateReason, releasedAt, resolution } = offRampSessions;
    const session = 'off_ramp_sessions';
    const decidedStatuses = sql<
      string[]
    >`(SELECT coalesce(array_agg(s.status::text), '{}') FROM ${offRampProviderStatuses} s
      WHERE s.off_ramp_session_id = ${sql.raw(session)}.id AND ${sql.raw(isAcknowledged(session))})`;
    const decidedReasons = sql<
      string[]
    >`(SELECT coalesce(array_agg(r.flagged_because), '{}') FROM ${offRampReviews} r
      WHERE r.off_ramp_session_id = ${sql.raw(session)}.id AND r.decision IS NOT NULL)`;
    return db
      .select({
        id,
        state,
        providerName,
        providerSessionId,
        providerStatus,
        fiatCurrency,
        fiatAmount,
        stateReason,
        releasedAt,
        resolution,
        decidedStatuses,
        decidedReasons,
      })
      .from(offRampSessions)
      .where(and(isNotNull(providerSessionId), where));
  };

export function comparePayout(session: Session, found: RampSession | null): Comparison {
  const compared = nothingCompared();
  const at = `off-ramp session ${session.id}`;
  if (found === null) return broken('I13', `${at}: its provider has no session of that reference`);
  for (const message of describeOtherPayout(session, found)) add(compared, broken('I13', `${at}${message}`));
  // An operator has decided about these statuses, but about no later one.
  if (session.decidedStatuses.includes(found.status)) return compared;
  const isSettled = found.status === 'settled';
  const where = placeOfTokens(session);
  const isContradiction =
    ((where === 'REFUNDED' || where === 'CLOSED') && isSettled) || (where === 'SETTLED' && !isSettled);
  if (!isContradiction) return compared;
  if (session.state === 'NEEDS_REVIEW') {
    const message = `${at} is ${where} on the network, and its provider says "${found.status}"`;
    add(compared, unproved(['I8'], 'UNDER_REVIEW', message));
  } else if (found.status !== session.providerStatus) {
    // The provider's status is newer than the last poll. contradictions/offRampSessions.ts compares the last.
    add(compared, broken('I8', `${at} is ${where}, and its provider says "${found.status}"`));
  }
  return compared;
}

/** The session's state; for a session under review, where its tokens were released to, if they were. */
function placeOfTokens({ state, releasedAt, resolution }: Session): Session['state'] {
  if (state !== 'NEEDS_REVIEW' || releasedAt === null) return state;
  return resolution === 'SETTLE' ? 'SETTLED' : 'REFUNDED';
}

/** The differences from the session's payout, or that there are several payouts. */
function describeOtherPayout(session: Session, found: RampSession): string[] {
  const messages: string[] = [];
  const { sessionId, others } = found;
  if (sessionId !== session.providerSessionId) {
    messages.push(` names session ${session.providerSessionId}, its provider ${sessionId}`);
  }
  if (others !== undefined) messages.push(`: its provider has ${others + 1} payouts of that reference`);
  const otherFiat = describeOtherFiat(session, found);
  if (otherFiat !== null && !isDealtWith(session, found, otherFiat)) messages.push(`: ${otherFiat}`);
  return messages;
}

/**
 * Decided by an operator, or the session was closed because of it before a deposit or payout. Reported for
 * ever, it would hide later differences.
 */
function isDealtWith(session: Session, { status }: RampSession, otherFiat: string): boolean {
  if (session.decidedReasons.includes(otherFiat)) return true;
  return session.state === 'CLOSED' && session.stateReason === otherFiat && status === 'failed';
}

function describeSkipped(
  name: string,
  { ofOthers, unanswered, refused, withoutAmount }: Skipped,
): NotProved[] {
  const left = [
    [ofOthers, 'NO_DATA', `${ofOthers} payouts are of other providers than "${name}", which is configured`],
    [unanswered, 'NO_ANSWER', `of ${unanswered} payouts the provider "${name}" gave no answer`],
    [refused, 'NO_DATA', `of ${refused} payouts the provider "${name}" refuses to answer`],
    [withoutAmount, 'NO_DATA', `of ${withoutAmount} payouts the provider "${name}" does not show the amount`],
  ] as const;
  return left.flatMap(([payouts, obstacle, message]) =>
    payouts === 0 ? [] : [{ invariant: 'I13', obstacle, message }],
  );
}
