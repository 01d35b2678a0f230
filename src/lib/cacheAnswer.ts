/**
 * Caches an answer for all callers within a time: its cost is paid once, however many ask.
 */
import type { Clock } from './clock.ts';

interface CacheOptions {
  maxAgeMs: number;
  clock: Clock;
  /** False if a failure may concern the first caller alone, such as its rate limit: others then ask anew. */
  cachesFailures: boolean;
}

/** @returns a function that asks with the first caller's arguments, for all callers within the time */
export function cacheAnswer<A extends unknown[], T>(
  { maxAgeMs, clock, cachesFailures }: CacheOptions,
  ask: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  let cached: { answer: Promise<T>; askedAtMs: number } | undefined;

  function shared(args: A, orElse: () => Promise<T>): Promise<T> {
    const nowMs = clock.now().getTime();
    if (cached !== undefined) {
      // After the clock was set back, the age of the answer is unknown.
      const ageMs = nowMs - cached.askedAtMs;
      if (ageMs >= 0 && ageMs < maxAgeMs) return cachesFailures ? cached.answer : cached.answer.catch(orElse);
    }
    const asked = { answer: ask(...args), askedAtMs: nowMs };
    cached = asked;
    if (!cachesFailures) {
      asked.answer.catch(() => {
        if (cached === asked) cached = undefined;
      });
    }
    return asked.answer;
  }

  // After a failure the callers share one more try, because many may wait for a slow answer; then each asks
  // alone, because the second try may be refused, too.
  return (...args) => shared(args, () => shared(args, () => ask(...args)));
}
