/**
 * The pace of an address that makes the server compute: after each piece of work its next request waits for a
 * while, so that others are answered between two pieces. Its budget (rateLimits.ts) bounds its computing over
 * some seconds, but not the work of requests that come all at once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';

/** The shortest wait of a timer: shorter steps are taken together, as many as fit into it. */
export const MAX_STEP_MS = 1;
/** Maximum rest after one piece of work, however long the work was. */
const MAX_REST_MS = 1_000;
/** A request that has waited this long is let in, because its client may give up. */
const MAX_WAIT_MS = 5_000;
/** Maximum keys. A forgotten key goes on at once. */
const MAX_KEYS = 50_000;

export interface ComputingPace {
  /** Notes a piece of work of `key` that took `ms`, or counts as much. */
  charge(key: string, ms: number): void;
  /** Resolves when the next request of `key` may begin; null when it may begin at once, as nearly always. */
  awaitTurn(key: string): Promise<void> | null;
}

interface Pace {
  freeAtMs: number;
  waiting: number;
  /** The turn of the last waiting request; each one waits for the one before it. */
  last: Promise<void>;
}

interface PaceSettings {
  /** Milliseconds of rest for each millisecond of work. */
  restShare: number;
  /** Rest after a request that waited and was let in, before its computing is known; at most MAX_STEP_MS. */
  stepMs: number;
}

/**
 * Waiters need no limit: each one is an open request or operation, which are limited.
 *
 * @param nowMs a clock that never goes back
 */
export function createComputingPace(
  { restShare, stepMs }: PaceSettings,
  nowMs: () => number = () => performance.now(),
  wait: (ms: number) => Promise<void> = delay,
): ComputingPace {
  /** How far ahead of the clock the next request may begin. */
  const aheadMs = MAX_STEP_MS - stepMs;
  const paces = new LRUCache<string, Pace>({ max: MAX_KEYS });
  const isFree = (pace: Pace, now: number) => pace.freeAtMs - aheadMs <= now;
  const rest = async (pace: Pace, untilMs: number) => {
    let now = nowMs();
    for (; !isFree(pace, now) && now < untilMs; now = nowMs())
      await wait(Math.ceil(Math.min(pace.freeAtMs - aheadMs, untilMs) - now));
    pace.waiting -= 1;
    if (isFree(pace, now)) pace.freeAtMs = Math.max(pace.freeAtMs, now) + stepMs;
  };
  return {
    charge(key, ms) {
      const now = nowMs();
      const pace = paces.get(key) ?? { freeAtMs: now, waiting: 0, last: Promise.resolve() };
      pace.freeAtMs = Math.min(Math.max(pace.freeAtMs, now) + ms * restShare, now + MAX_REST_MS);
      paces.set(key, pace);
    },
    awaitTurn(key) {
      const pace = paces.get(key);
      const now = nowMs();
      if (pace === undefined || (pace.waiting === 0 && isFree(pace, now))) return null;
      pace.waiting += 1;
      pace.last = pace.last.then(() => rest(pace, now + MAX_WAIT_MS));
      return pace.last;
    },
  };
}
