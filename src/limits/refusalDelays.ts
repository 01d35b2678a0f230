/**
 * Delays refusals, so that a client that asks again at once after each refusal gets few of them: a refusal
 * costs nearly as much as a small answer, and hundreds in one turn of the event loop hold up all other
 * clients.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';

/** A hundred refusals a second for each key take a few percent of one processor. */
const INTERVAL_MS = 10;
/** The time of the refusals for MAX_CONNECTIONS_PER_ADDRESS requests by default; more come faster. */
const MAX_DELAY_MS = 5_000;
/** Maximum keys. A forgotten key has its next refusal at once. */
const MAX_KEYS = 50_000;

/** Resolves when the next refusal of `key` is due: at once for a key that has had none lately. */
export type DelayRefusal = (key: string) => Promise<void>;

/**
 * Waiters need no limit: each one is an open request, socket or operation, which are limited.
 * @param nowMs a clock that never goes back
 */
export function createRefusalDelays(
  nowMs: () => number = () => performance.now(),
  wait: (ms: number) => Promise<void> = delay,
): DelayRefusal {
  const nextAtMs = new LRUCache<string, number>({ max: MAX_KEYS });
  return async (key) => {
    const now = nowMs();
    const dueAtMs = Math.min(Math.max(nextAtMs.get(key) ?? now, now), now + MAX_DELAY_MS);
    nextAtMs.set(key, dueAtMs + INTERVAL_MS);
    if (dueAtMs > now) await wait(dueAtMs - now);
  };
}
