/**
 * An answer that serves all who ask within a time: what it costs is paid once, however many ask.
 */
import type { Clock } from './clock.ts';

interface Keeping {
  keptMs: number;
  clock: Clock;
  /** False where a failure may be the first caller's alone, such as its own rate limit: those who wait with it then ask anew. */
  keepsFailures: boolean;
}

/** @returns what asks with the arguments of the first caller, for all who follow within the time */
export function keepAnswer<A extends unknown[], T>(
  { keptMs, clock, keepsFailures }: Keeping,
  ask: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  let kept: { answer: Promise<T>; askedAtMs: number } | undefined;

  function shared(args: A, orElse: () => Promise<T>): Promise<T> {
    const nowMs = clock.now().getTime();
    if (kept !== undefined) {
      // A clock that was set back says nothing about how long ago it was.
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

  // Together once more, because many may wait for what is slow; then each for itself, because the second one may be refused too.
  return (...args) => shared(args, () => shared(args, () => ask(...args)));
}
