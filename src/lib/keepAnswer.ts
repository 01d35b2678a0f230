/**
 * Keeps an answer for all callers within a time: its cost is paid once, however many ask.
 */
import type { Clock } from './clock.ts';

interface Keeping {
  keptMs: number;
  clock: Clock;
  /** False if a failure may concern the first caller alone, such as its rate limit: others then ask anew. */
  keepsFailures: boolean;
}

/** @returns a function that asks with the first caller's arguments, for all callers within the time */
export function keepAnswer<A extends unknown[], T>(
  { keptMs, clock, keepsFailures }: Keeping,
  ask: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  let kept: { answer: Promise<T>; askedAtMs: number } | undefined;

  function shared(args: A, orElse: () => Promise<T>): Promise<T> {
    const nowMs = clock.now().getTime();
    if (kept !== undefined) {
      // After the clock was set back, the age of the answer is unknown.
      const ageMs = nowMs - kept.askedAtMs;
      if (ageMs >= 0 && ageMs < keptMs) return keepsFailures ? kept.answer : kept.answer.catch(orElse);
    }
    const asked = { answer: ask(...args), askedAtMs: nowMs };
    kept = asked;
    if (!keepsFailures) {
      asked.answer.catch(() => {
        if (kept === asked) kept = undefined;
      });
    }
    return asked.answer;
  }

  // After a failure the callers share one more try, because many may wait for a slow answer; then each asks
  // alone, because the second try may be refused, too.
  return (...args) => shared(args, () => shared(args, () => ask(...args)));
}
