/**
 * Throttles an address that makes the server compute: after each piece of work its next request waits for a
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

export interface CpuThrottle {
  /** Notes a piece of work of `key` that took `ms`, or counts as much. */
  charge(key: string, ms: number): void;
  /** Resolves when the next request of `key` may begin; null when it may begin at once, as nearly always. */
  awaitTurn(key: string): Promise<void> | null;
}

interface KeyState {
  freeAtMs: number;
  waiting: number;
  /** The turn of the last waiting request; each one waits for the one before it. */
  last: Promise<void>;
}

interface ThrottleSettings {
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
export function createCpuThrottle(
  { restShare, stepMs }: ThrottleSettings,
  nowMs: () => number = () => performance.now(),
  wait: (ms: number) => Promise<void> = delay,
): CpuThrottle {
  /** How far ahead of the clock the next request may begin. */
  const aheadMs = MAX_STEP_MS - stepMs;
  const states = new LRUCache<string, KeyState>({ max: MAX_KEYS });
  const isFree = (state: KeyState, now: number) => state.freeAtMs - aheadMs <= now;
  const rest = async (state: KeyState, untilMs: number) => {
    let now = nowMs();
    for (; !isFree(state, now) && now < untilMs; now = nowMs())
      await wait(Math.ceil(Math.min(state.freeAtMs - aheadMs, untilMs) - now));
    state.waiting -= 1;
    // One that has waited for the maximum adds no step: as many as wait would add more than MAX_REST_MS.
    if (isFree(state, now)) state.freeAtMs = Math.max(state.freeAtMs, now) + stepMs;
  };
  return {
    charge(key, ms) {
      const now = nowMs();
      const state = states.get(key) ?? { freeAtMs: now, waiting: 0, last: Promise.resolve() };
      state.freeAtMs = Math.min(Math.max(state.freeAtMs, now) + ms * restShare, now + MAX_REST_MS);
      states.set(key, state);
    },
    awaitTurn(key) {
      const state = states.get(key);
      const now = nowMs();
      if (state === undefined || (state.waiting === 0 && isFree(state, now))) return null;
      state.waiting += 1;
      state.last = state.last.then(() => rest(state, now + MAX_WAIT_MS));
      return state.last;
    },
  };
}
