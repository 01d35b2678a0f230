/**
 * Spaces the requests of one instance to a provider evenly, however many sessions are due at once, and pauses
 * when the provider asks for a pause.
 */
import { setTimeout as delay } from 'node:timers/promises';

export interface RequestThrottle {
  /** Waits until the next request may be sent. @throws Error when that is more than MAX_WAIT_MS away */
  acquire(): Promise<void>;
  /** Lets no request through for this long. */
  pauseFor(ms: number): void;
  /** How long until the next request may be sent, without waiting for it. */
  freeInMs(): number;
}

/** The longest wait: the caller holds a session's lease, or a client waits for the answer. */
const MAX_WAIT_MS = 10_000;

export function createRequestThrottle(requestsPerSecond: number): RequestThrottle {
  const intervalMs = 1000 / requestsPerSecond;
  let nextAtMs = 0;
  let pauseEndsAtMs = 0;
  const notFree = (ms: number) =>
    new Error(`no request is free for ${Math.ceil(ms / 1000)} s (${requestsPerSecond} a second)`);
  return {
    freeInMs: () => Math.max(nextAtMs - performance.now(), 0),
    async acquire() {
      const latestMs = performance.now() + MAX_WAIT_MS;
      let atMs: number;
      do {
        const nowMs = performance.now();
        atMs = Math.max(nextAtMs, nowMs);
        if (atMs > latestMs) throw notFree(atMs - nowMs);
        nextAtMs = atMs + intervalMs;
        if (atMs > nowMs) await delay(atMs - nowMs);
        // The answer to an earlier request may have begun a pause meanwhile: then this one takes a later turn.
      } while (pauseEndsAtMs > atMs);
    },
    pauseFor(ms) {
      pauseEndsAtMs = Math.max(pauseEndsAtMs, performance.now() + ms);
      nextAtMs = Math.max(nextAtMs, pauseEndsAtMs);
    },
  };
}
