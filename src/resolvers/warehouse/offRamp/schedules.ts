/**
 * When an off-ramp session is looked at, in each state: first, when it comes there, and then for as long as looks find
 * nothing new. Hints and the network's word make it due at once.
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

/** While something of ours waits for the provider. */
const URGENT = { firstMs: 250, longestMs: 15_000 };
/** While the provider pays: minutes for mobile money, days for banks. Hints are faster. */
const PATIENT = { firstMs: 2_000, longestMs: 10 * 60_000 };
/** While a holder is to sign: they may send the deposit by themselves, too. */
const SIGNING = { firstMs: 1_000, longestMs: 15_000 };
/** Each refusal doubles the wait for the next look, from a quarter of a minute to a quarter of an hour. */
export const PAUSE_LOOKS = { firstMs: 15_000, longestMs: 15 * 60_000 };
/**
 * A webhook may be lost, so a payout is asked about every half minute for its first hour, and then each time that it has
 * taken another 120th longer, up to ten minutes: about 500 questions in the first day and 144 in each one after it.
 */
const PAYOUT_LOOK_MS = 30_000;
const PAYOUT_AGE_DIVISOR = 120;
/** All instances together ask about payouts no more often than this: with 75 of them open, each waits longer. */
const PAYOUT_LOOKS_PER_SECOND = 5;
/** A payout may still turn around after its end, and the webhook that says so may be lost. */
const AFTERMATH_INTERVAL_SECONDS = 3600;
/** Providers take payouts back within days, if at all. */
const AFTERMATH_MS = 72 * 60 * 60_000;
/** What a holder may deposit late, and what a provider may open late, are looked for sooner than what it may take back. */
const LATE_LOOK_SECONDS = 60;
/** The first look at a deposit that a holder signed, or owes: submission sees it land much sooner. */
const HOLDER_LOOK_SECONDS = 30;
/** Looks for a late deposit, or payout, thin out: one each time that the session has been closed for a tenth longer. */
const LATE_LOOK_AGE_DIVISOR = 10;
const LONGEST_LATE_LOOK_MS = 7 * 24 * 60 * 60_000;
/** After that, only a request that names the session makes it due. */
const LATE_LOOKS_MS = 365 * 24 * 60 * 60_000;

interface Circumstances {
  /** Looks that found nothing new, one after the other. */
  fruitlessSteps: number;
  sinceDepositedMs: number;
  sinceEndedMs: number;
  openPayouts: number;
  depositsNeedAllowance: boolean;
  random: () => number;
}

interface Schedule {
  /** @param session before the move; null when only a hint, the network or an operator can go on. */
  firstSeconds(session: OffRampSession): number | null;
  /** Null as above. */
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
    // Custody's deposit goes on by itself.
    firstSeconds: ({ depositor }) => (depositor === 'HOLDER' ? HOLDER_LOOK_SECONDS : null),
    // What a holder signed may wait for ever, and custody's deposit for its turn.
    nextMs: ({ depositor }, { fruitlessSteps, depositsNeedAllowance, random }) =>
      depositor === 'HOLDER' || depositsNeedAllowance ? backoffMs(fruitlessSteps, PATIENT, random) : null,
  },
  AWAITING_PAYOUT: {
    firstSeconds: () => 0,
    nextMs: (_, { fruitlessSteps, sinceDepositedMs: ageMs, openPayouts, random }) =>
      fruitlessSteps === 0 ? 0 : payoutLookMs(fruitlessSteps, { ageMs, openPayouts }, random),
  },
  CONFIRMING: ofNetwork,
  REFUNDING: ofNetwork,
  NEEDS_REVIEW: {
    // A review is for people; a pause names a time of its own.
    firstSeconds: ({ depositor }) =>
      depositor === 'HOLDER' ? HOLDER_LOOK_SECONDS : AFTERMATH_INTERVAL_SECONDS,
    nextMs(session, { fruitlessSteps, random }) {
      if (isUnreleasedReview(session)) return backoffMs(fruitlessSteps, PAUSE_LOOKS, random);
      if (isUndepositedReview(session)) return backoffMs(fruitlessSteps, PATIENT, random);
      // What the provider says meanwhile, its callback may not.
      return AFTERMATH_INTERVAL_SECONDS * 1000;
    },
  },
  SETTLED: ofEnd,
  REFUNDED: ofEnd,
  CLOSED: {
    // Closed, and not known to be without consequences?
    firstSeconds: ({ depositor, providerSessionId, providerStatus }) =>
      depositor === 'HOLDER' || providerSessionId === null || !isEnd(providerStatus)
        ? LATE_LOOK_SECONDS
        : AFTERMATH_INTERVAL_SECONDS,
    nextMs: nextAfterEndMs,
  },
};

/**
 * Open sessions that are due later than a schedule says. All awaited payouts share five looks a second: with a hundred thousand of them
 * the next look at one is half a day away.
 */
export const isMisdated = sql`(${offRampSessions.state} IN ('OPENING', 'CLOSING', 'AWAITING_SIGNATURE', 'DEPOSITING', 'NEEDS_REVIEW')
    AND ${offRampSessions.dueAt} > now() + interval '2 hours'
  OR ${offRampSessions.state} = 'AWAITING_PAYOUT' AND ${offRampSessions.dueAt} > now() + interval '1 day')`;

/** The database's time of the first look in the state. */
export function firstLook(session: OffRampSession, state: OffRampState) {
  const seconds = SCHEDULES[state].firstSeconds(session);
  return seconds === null ? null : sql`now() + make_interval(secs => ${seconds})`;
}

export function nextLookMs(session: OffRampSession, now: Circumstances): number | null {
  return SCHEDULES[session.state].nextMs(session, now);
}

function nextAfterEndMs(
  session: OffRampSession,
  { fruitlessSteps, sinceEndedMs, random }: Circumstances,
): number | null {
  if (session.providerSessionId === null) {
    // The provider may show what it was asked for late, and pay what it has shown under the id of another session.
    const mayBeOpened = session.providerAskedAt !== null && sinceEndedMs < AFTERMATH_MS;
    const isUnderWay = session.providerStatus !== null && !isEnd(session.providerStatus);
    return mayBeOpened || isUnderWay ? lateDepositLookMs(sinceEndedMs) : null;
  }
  // What the provider has not closed yet, it may still pay, while another session takes the kilograms.
  const mayBePaid = session.state === 'CLOSED' && !isEnd(session.providerStatus);
  if (mayBePaid || mayBeDepositedLate(session)) {
    const longestMs = lateDepositLookMs(sinceEndedMs);
    return mayBePaid && longestMs !== null
      ? backoffMs(fruitlessSteps, { ...URGENT, longestMs }, random)
      : longestMs;
  }
  return sinceEndedMs < AFTERMATH_MS ? AFTERMATH_INTERVAL_SECONDS * 1000 : null;
}

/** @returns when to ask about a payout that is awaited for `ageMs`, in case its webhook is lost. */
export function payoutLookMs(
  fruitlessSteps: number,
  { ageMs, openPayouts }: { ageMs: number; openPayouts: number },
  random: () => number,
): number {
  // Backing off halves at most: with this, all of them together stay within the rate.
  const shareMs = (2000 * openPayouts) / PAYOUT_LOOKS_PER_SECOND;
  const agedMs = Math.min(Math.max(ageMs / PAYOUT_AGE_DIVISOR, PAYOUT_LOOK_MS), PATIENT.longestMs);
  const limits = { firstMs: Math.max(PATIENT.firstMs, shareMs), longestMs: Math.max(agedMs, shareMs) };
  return backoffMs(fruitlessSteps, limits, random);
}

/** @returns when to look for what may come late next; null when it has been long enough. */
export function lateDepositLookMs(sinceEndedMs: number): number | null {
  if (sinceEndedMs > LATE_LOOKS_MS) return null;
  const delayMs = Math.max(sinceEndedMs / LATE_LOOK_AGE_DIVISOR, LATE_LOOK_SECONDS * 1000);
  return Math.min(delayMs, LONGEST_LATE_LOOK_MS);
}
