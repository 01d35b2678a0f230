/**
 * Schedules the polls of an off-ramp session in each state: the first, when the session enters the state, and
 * the next, while polls find nothing new. Hints and network outcomes make a session due now.
 */
import { sql } from 'drizzle-orm';
import { backoffMs } from '../../../db/dueWorker.ts';
import { offRampSessions } from '../../../db/tables/index.ts';
import {
  isUndepositedReview,
  isUnreleasedReview,
  mayBeDepositedLate,
  type OffRampSession,
  type OffRampState,
} from './findOffRampSession.ts';
import { isEnd } from './offRampMoves.ts';

/** While the platform needs an answer from the provider. */
const URGENT = { firstMs: 250, longestMs: 15_000 };
/** While the provider pays: minutes for mobile money, days for banks. Hints are faster. */
const PATIENT = { firstMs: 2_000, longestMs: 10 * 60_000 };
/** While a holder is to sign; the holder may also send the deposit without the platform. */
const SIGNING = { firstMs: 1_000, longestMs: 15_000 };
/** While a pause blocks a release: each refusal doubles the wait, from 15 seconds to 15 minutes. */
export const PAUSE_POLLS = { firstMs: 15_000, longestMs: 15 * 60_000 };
/**
 * A webhook may be lost, so the provider is asked about a payout every half minute for the first hour, and
 * then whenever the payout's age has grown by a 120th, at most every ten minutes: about 500 questions in the
 * first day and 144 in each later one.
 */
const PAYOUT_POLL_MS = 30_000;
const PAYOUT_AGE_DIVISOR = 120;
/** Maximum questions about payouts of all instances: from 75 open payouts on, each waits longer. */
const PAYOUT_POLLS_PER_SECOND = 5;
/** The provider may still change a payout after its end, and the webhook that says so may be lost. */
const AFTERMATH_INTERVAL_SECONDS = 3600;
/** Providers take payouts back within days, if at all. */
const AFTERMATH_MS = 72 * 60 * 60_000;
/**
 * Late deposits of holders and late sessions of providers are more urgent than payouts that may be taken
 * back.
 */
const LATE_POLL_SECONDS = 60;
/** First poll of a deposit that a holder signed, or owes. Submission sees it land much sooner. */
const HOLDER_POLL_SECONDS = 30;
/** Polls for a late deposit or payout become rarer: one for each tenth by which the closed time has grown. */
const LATE_POLL_AGE_DIVISOR = 10;
const LONGEST_LATE_POLL_MS = 7 * 24 * 60 * 60_000;
/** After this time, only a request that names the session makes it due. */
const LATE_POLLS_MS = 365 * 24 * 60 * 60_000;
/**
 * After a failed step, for example because the provider did not answer: a callback's question is not lost,
 * although the state's own next question may be hours away, or never come. A wait is about as long as the
 * failures have lasted, and in the end not shorter than the hour of an ended or reviewed session. So an outage
 * adds a dozen questions of a session to those of its state.
 */
const RETRIES = { firstMs: 2_000, longestMs: 2 * 60 * 60_000 };
/** About as long as the provider is asked about a payout after its end: three days. */
const MAX_RETRIES = 60;

interface Circumstances {
  /** Whether the last poll failed: it found out nothing. */
  hasFailed: boolean;
  /** Consecutive polls that found nothing new. */
  fruitlessSteps: number;
  sinceDepositedMs: number;
  sinceEndedMs: number;
  openPayouts: number;
  depositsNeedAllowance: boolean;
  random: () => number;
}

interface Schedule {
  /** @param session before the move. Null when only a hint, the network or an operator can continue it. */
  firstSeconds(session: OffRampSession): number | null;
  /** Null when only a hint, the network or an operator can continue the session. */
  nextMs(session: OffRampSession, now: Circumstances): number | null;
}

const ofProvider: Schedule = {
  firstSeconds: () => 0,
  nextMs: (_, { fruitlessSteps, random }) =>
    fruitlessSteps === 0 ? 0 : backoffMs(fruitlessSteps, URGENT, random),
};
const ofNetwork: Schedule = { firstSeconds: () => null, nextMs: () => null };
const ofEnd: Schedule = { firstSeconds: () => AFTERMATH_INTERVAL_SECONDS, nextMs: nextAfterEndMs };

const SCHEDULES: Record<OffRampState, Schedule> = {
  OPENING: ofProvider,
  CLOSING: ofProvider,
  AWAITING_SIGNATURE: {
    firstSeconds: () => 0,
    nextMs: (_, { fruitlessSteps, random }) => backoffMs(fruitlessSteps, SIGNING, random),
  },
  DEPOSITING: {
    // Custody's deposit continues without polls.
    firstSeconds: ({ depositor }) => (depositor === 'HOLDER' ? HOLDER_POLL_SECONDS : null),
    // A holder's signed deposit may stay pending indefinitely, and custody's deposit may wait for its turn.
    nextMs: ({ depositor }, { fruitlessSteps, depositsNeedAllowance, random }) =>
      depositor === 'HOLDER' || depositsNeedAllowance ? backoffMs(fruitlessSteps, PATIENT, random) : null,
  },
  AWAITING_PAYOUT: {
    firstSeconds: () => 0,
    nextMs: (_, { fruitlessSteps, sinceDepositedMs: ageMs, openPayouts, random }) =>
      fruitlessSteps === 0 ? 0 : payoutPollMs(fruitlessSteps, { ageMs, openPayouts }, random),
  },
  CONFIRMING: ofNetwork,
  REFUNDING: ofNetwork,
  NEEDS_REVIEW: {
    // An operator ends a review. A release that a pause has blocked sets its own time.
    firstSeconds: ({ depositor }) =>
      depositor === 'HOLDER' ? HOLDER_POLL_SECONDS : AFTERMATH_INTERVAL_SECONDS,
    nextMs(session, { fruitlessSteps, random }) {
      if (isUnreleasedReview(session)) return backoffMs(fruitlessSteps, PAUSE_POLLS, random);
      if (isUndepositedReview(session)) return backoffMs(fruitlessSteps, PATIENT, random);
      // The provider's status may change meanwhile, and its callback may be lost.
      return AFTERMATH_INTERVAL_SECONDS * 1000;
    },
  },
  SETTLED: ofEnd,
  REFUNDED: ofEnd,
  CLOSED: {
    // A session that may still have consequences is looked at sooner.
    firstSeconds: ({ depositor, providerSessionId, providerStatus }) =>
      depositor === 'HOLDER' || providerSessionId === null || !isEnd(providerStatus)
        ? LATE_POLL_SECONDS
        : AFTERMATH_INTERVAL_SECONDS,
    nextMs: nextAfterEndMs,
  },
};

/**
 * Open sessions that are due later than a schedule says. All awaited payouts share five polls a second: with
 * a hundred thousand payouts the next poll of one is half a day away.
 */
export const isMisdated = sql`(${offRampSessions.state} IN ('OPENING', 'CLOSING', 'AWAITING_SIGNATURE', 'DEPOSITING', 'NEEDS_REVIEW')
    AND ${offRampSessions.dueAt} > now() + interval '2 hours'
  OR ${offRampSessions.state} = 'AWAITING_PAYOUT' AND ${offRampSessions.dueAt} > now() + interval '1 day')`;

/** Time of the first poll in the state, by the database's clock. */
export function firstPoll(session: OffRampSession, state: OffRampState) {
  const seconds = SCHEDULES[state].firstSeconds(session);
  return seconds === null ? null : sql`now() + make_interval(secs => ${seconds})`;
}

export function nextPollMs(session: OffRampSession, now: Circumstances): number | null {
  const { hasFailed, fruitlessSteps, random } = now;
  const ofStateMs = SCHEDULES[session.state].nextMs(session, now);
  // Awaited payouts begin anew with each hint, too, and keep to the rate that they share: while the provider
  // is away, their number grows, and retries would take the requests of new sessions.
  const isRetried = hasFailed && fruitlessSteps <= MAX_RETRIES && session.state !== 'AWAITING_PAYOUT';
  if (!isRetried) return ofStateMs;
  return Math.min(ofStateMs ?? Infinity, backoffMs(fruitlessSteps, RETRIES, random));
}

function nextAfterEndMs(
  session: OffRampSession,
  { fruitlessSteps, sinceEndedMs, random }: Circumstances,
): number | null {
  if (session.providerSessionId === null) {
    // The provider may show a requested session late, and pay one that it has shown under another session's
    // id.
    const mayBeOpened = session.providerAskedAt !== null && sinceEndedMs < AFTERMATH_MS;
    const isUnderWay = session.providerStatus !== null && !isEnd(session.providerStatus);
    return mayBeOpened || isUnderWay ? lateDepositPollMs(sinceEndedMs) : null;
  }
  // The provider may still pay a session that it has not closed, while another session takes the kilograms.
  const mayBePaid = session.state === 'CLOSED' && !isEnd(session.providerStatus);
  if (mayBePaid || mayBeDepositedLate(session)) {
    const longestMs = lateDepositPollMs(sinceEndedMs);
    return mayBePaid && longestMs !== null
      ? backoffMs(fruitlessSteps, { ...URGENT, longestMs }, random)
      : longestMs;
  }
  return sinceEndedMs < AFTERMATH_MS ? AFTERMATH_INTERVAL_SECONDS * 1000 : null;
}

/** @returns milliseconds until the next question about a payout of this age, in case its webhook is lost. */
export function payoutPollMs(
  fruitlessSteps: number,
  { ageMs, openPayouts }: { ageMs: number; openPayouts: number },
  random: () => number,
): number {
  // Jitter at most halves a delay: with twice the fair share, all payouts together stay within the rate.
  const shareMs = (2000 * openPayouts) / PAYOUT_POLLS_PER_SECOND;
  const agedMs = Math.min(Math.max(ageMs / PAYOUT_AGE_DIVISOR, PAYOUT_POLL_MS), PATIENT.longestMs);
  const limits = { firstMs: Math.max(PATIENT.firstMs, shareMs), longestMs: Math.max(agedMs, shareMs) };
  return backoffMs(fruitlessSteps, limits, random);
}

/** @returns milliseconds until the next poll for a late deposit or payout; null when the polls are over. */
export function lateDepositPollMs(sinceEndedMs: number): number | null {
  if (sinceEndedMs > LATE_POLLS_MS) return null;
  const delayMs = Math.max(sinceEndedMs / LATE_POLL_AGE_DIVISOR, LATE_POLL_SECONDS * 1000);
  return Math.min(delayMs, LONGEST_LATE_POLL_MS);
}
