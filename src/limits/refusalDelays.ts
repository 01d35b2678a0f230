/**
 * Delays of refusals, so that a client that asks again at once after each gets few of them: a refusal costs nearly what a small
 * answer costs, and hundreds in one turn of the event loop hold up all other clients.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';

/** A hundred a second for each key: together they take a few percent of one processor. */
const INTERVAL_MS = 10;
/** What the refused requests of MAX_CONNECTIONS_PER_ADDRESS take by default; with more, they come faster. */
const MAX_DELAY_MS = 5_000;
/** Limit on keys. One that is forgotten has its next refusal at once. */
const MAX_KEYS = 50_000;

/** Resolves when the next refusal of `key` is due: at once for one that has had none lately. */
export type DelayRefusal = (key: string) => Promise<void>;

/** Each that waits is an open request, socket or operation, which are limited. @param nowMs a clock that never goes back */
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
