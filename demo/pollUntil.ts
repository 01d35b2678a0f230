/**
 * Polls the API until a condition holds.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** Webhooks take moments; the server makes up for a missed one within a minute. */
const TIMEOUT_MS = 60_000;
const FIRST_INTERVAL_MS = 50;
const MAX_INTERVAL_MS = 2000;

/**
 * @param what names the condition in the error message
 * @throws when `isDone` is not true in time
 */
export async function pollUntil<T>(
  what: string,
  ask: () => Promise<T>,
  isDone: (answer: T) => boolean,
  timeoutMs = TIMEOUT_MS,
): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  for (let intervalMs = FIRST_INTERVAL_MS; ; intervalMs = Math.min(intervalMs * 1.5, MAX_INTERVAL_MS)) {
    const answer = await ask();
    if (isDone(answer)) return answer;
    if (performance.now() > deadlineMs) {
      throw new Error(`Waited in vain until ${what}; last seen: ${JSON.stringify(answer)}`);
    }
    await delay(intervalMs);
  }
}
