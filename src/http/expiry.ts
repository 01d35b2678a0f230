/**
 * Ends what was opened with a token when the token expires.
 */
import type { Clock } from '../clock.ts';

/** Timers count in 32 bits: a longer wait is made of several. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Calls `onExpiry` once the clock reaches `expiresAt` (Unix seconds).
 * Returns what cancels it; the timer keeps no process alive.
 */
export function atExpiry(expiresAt: number, clock: Clock, onExpiry: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = () => {
    const remainingMs = expiresAt * 1000 - clock.now().getTime();
    if (remainingMs <= 0) {
      onExpiry();
      return;
    }
    timer = setTimeout(wait, Math.min(remainingMs, MAX_TIMER_MS)).unref();
  };
  timer = setTimeout(wait, 0).unref();
  return () => clearTimeout(timer);
}

/**
 * The same stream, ended at `expiresAt`. Nothing is pulled from it ahead of its reader: each `next` is one
 * `next` of the source. (Not `Promise.race` with an expiry promise: that promise would remember every event.)
 */
export function endingAtExpiry<T>(
  source: AsyncIterable<T>,
  expiresAt: number,
  clock: Clock,
): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const finished: IteratorResult<T> = { done: true, value: undefined };
  let ended = false;
  let answerPending: ((result: IteratorResult<T>) => void) | undefined;
  const end = async () => {
    ended = true;
    cancel();
    answerPending?.(finished);
    await iterator.return?.();
    return finished;
  };
  // The source's own failure to stop has nobody to be told; its reader is already answered.
  const cancel = atExpiry(expiresAt, clock, () => void end().catch(() => undefined));
  const pull = async () => {
    const result = await iterator.next();
    if (result.done === true) cancel();
    return result;
  };
  return {
    next: () =>
      new Promise((resolve, reject) => {
        if (ended) return resolve(finished);
        answerPending = resolve;
        pull().then(resolve, reject);
      }),
    return: end,
    throw: async (error) => {
      await end();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
