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
  return {
    freeInMs: () => Math.max(nextAtMs - performance.now(), 0),
    async acquire() {
      const latestMs = performance.now() + MAX_WAIT_MS;
      let atMs: number;
      do {
        const nowMs = performance.now();
        atMs = Math.max(nextAtMs, nowMs);
        const waitMs = atMs - nowMs;
        if (atMs > latestMs) {
          throw new Error(
            `no request is free for ${Math.ceil(waitMs / 1000)} s (${requestsPerSecond} a second)`,
          );
        }
        nextAtMs = atMs + intervalMs;
        if (waitMs > 0) await delay(waitMs);
        // The answer to an earlier request may have begun a pause meanwhile: then this one takes a later turn.
      } while (pauseEndsAtMs > atMs);
    },
    pauseFor(ms) {
      pauseEndsAtMs = Math.max(pauseEndsAtMs, performance.now() + ms);
      nextAtMs = Math.max(nextAtMs, pauseEndsAtMs);
    },
  };
}
