/**
 * Waiting as a client of the API does: by asking again.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** Webhooks take moments, and what they miss is made good within a minute. */
const PATIENCE_MS = 60_000;
const INTERVAL_MS = 100;

/** @throws when `isDone` has not come true in time; `what` says what was waited for. */
export async function pollUntil<T>(
  what: string,
  ask: () => Promise<T>,
  isDone: (answer: T) => boolean,
): Promise<T> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (isDone(answer)) return answer;
    if (performance.now() > deadlineMs) {
      throw new Error(`Waited in vain until ${what}; last seen: ${JSON.stringify(answer)}`);
    }
    await delay(INTERVAL_MS);
  }
}
