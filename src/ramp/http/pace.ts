/**
 * Spaces the requests of one instance to a provider evenly, however many sessions are due at once, and pauses
 * when the provider asks for a pause.
 */
import { setTimeout as delay } from 'node:timers/promises';

export interface Pace {
  /** Waits for the next free moment. @throws Error when the moment is more than MAX_WAIT_MS away */
  turn(): Promise<void>;
  /** Sends no request for this long. */
  hold(ms: number): void;
  /** How long until the next free moment. */
  freeInMs(): number;
}

/** The longest wait: the caller holds a session's lease, or a client waits for the answer. */
const MAX_WAIT_MS = 10_000;

export function createPace(requestsPerSecond: number): Pace {
  const intervalMs = 1000 / requestsPerSecond;
  let nextAtMs = 0;
  const freeInMs = () => Math.max(nextAtMs - performance.now(), 0);
  return {
    freeInMs,
    async turn() {
      const waitMs = freeInMs();
      if (waitMs > MAX_WAIT_MS) {
        throw new Error(
          `no request is free for ${Math.ceil(waitMs / 1000)} s (${requestsPerSecond} a second)`,
        );
      }
      nextAtMs = Math.max(nextAtMs, performance.now()) + intervalMs;
      if (waitMs > 0) await delay(waitMs);
    },
    hold(ms) {
      nextAtMs = Math.max(nextAtMs, performance.now() + ms);
    },
  };
}
