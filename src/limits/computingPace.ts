/**
 * The pace of an address that makes the server compute: after each piece of work its next request waits for a while, so that others are
 * answered between two pieces. Its budget (rateLimits.ts) bounds how much it computes in seconds, and says nothing of
 * what comes all at once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';

/** The shortest wait of a timer: of shorter steps, as many as fit into it are taken at once. */
export const MAX_STEP_MS = 1;
/** After one piece of work, however long it was. */
const MAX_REST_MS = 1_000;
/** A client that waits for longer may have given up: it is let in. */
const MAX_WAIT_MS = 5_000;
/** Limit on keys. One that is forgotten goes on at once. */
const MAX_KEYS = 50_000;

export interface ComputingPace {
  /** A piece of work of `key` that took so long, or as if it had. */
  charge(key: string, ms: number): void;
  /** Resolves when the next request of `key` may begin; null when it may at once, as nearly always. */
  awaitTurn(key: string): Promise<void> | null;
}

interface Pace {
  freeAtMs: number;
  waiting: number;
  /** Of the last one that waits; each waits for the one before it. */
  last: Promise<void>;
}

interface PaceSettings {
  /** How long to rest, for each millisecond of work. */
  restShare: number;
  /** After one that waited and was let in, before it is known what it computes; at most MAX_STEP_MS. */
  stepMs: number;
}

/**
 * Each that waits is an open request or operation, which are limited.
 *
 * @param nowMs a clock that never goes back
 */
export function createComputingPace(
  { restShare, stepMs }: PaceSettings,
  nowMs: () => number = () => performance.now(),
  wait: (ms: number) => Promise<void> = delay,
): ComputingPace {
  /** How far ahead of the clock the next one may begin. */
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
