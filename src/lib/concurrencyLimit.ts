/**
 * Limits concurrent work: a number of places, a number of waiting callers, and a maximum wait. A caller that
 * can't be served in time is refused, because an answer after the client's timeout costs as much and is of no
 * use.
 *
 * Callers with different keys, such as addresses, take turns: a key with many requests delays only itself,
 * and does not fill the queue for others. With a maximum per key, others find free places whatever one key
 * asks for.
 */
import { DomainError } from './errors.ts';
import { createFairQueue, type FairQueue } from './fairQueue.ts';

interface ConcurrencySettings {
  maxConcurrent: number;
  /** Maximum places of one key; all by default. */
  maxPerKey?: number;
  maxWaiting: number;
  waitMs: number;
  /** Makes the error of a refused caller; by default OVERLOADED, which says that nothing was done. */
  refusal?: () => Error;
}

export interface ConcurrencyLimit {
  /**
   * Resolves to the function that gives the place back; further calls of it change nothing.
   * @throws the refusal
   */
  take(key?: string): Promise<() => void>;
  /** Like take, but at once; null when there is no free place. */
  takeFree(key?: string): (() => void) | null;
  load(): PlacesLoad;
}

interface Waiter {
  key: string;
  untilMs: number;
  admit(): void;
  refuse(): void;
}

interface PlacesLoad {
  /** Callers that wait for a place now. */
  waiting: number;
  /** Callers that had to wait since the start. */
  waited: number;
  /** Callers that were refused since the start, at once or after their wait. */
  refused: number;
}

const RETRY_AFTER_SECONDS = 1;

/**
 * A caller that took a place must give it back, also when its work fails. Callers without a key share one.
 */
export function createConcurrencyLimit({
  maxConcurrent,
  maxPerKey = maxConcurrent,
  maxWaiting,
  waitMs,
  refusal = overloaded,
}: ConcurrencySettings): ConcurrencyLimit {
  const held = new Map<string, number>();
  let free = maxConcurrent;
  let waited = 0;
  let refused = 0;
  const queue = createFairQueue<Waiter>(maxWaiting);
  const mayHold = (key: string) => (held.get(key) ?? 0) < maxPerKey;
  const place = (key: string) => {
    let isTaken = true;
    free -= 1;
    held.set(key, (held.get(key) ?? 0) + 1);
    return () => {
      if (isTaken) giveBack(key);
      isTaken = false;
    };
  };
  const giveBack = (key: string) => {
    const left = (held.get(key) ?? 0) - 1;
    if (left > 0) held.set(key, left);
    else held.delete(key);
    free += 1;
    queue.shift(mayHold)?.admit();
  };
  const refuseIn = createRefusals(queue);
  const waitInQueue = (key: string) =>
    new Promise<() => void>((resolve, reject) => {
      const refuse = () => {
        refused += 1;
        reject(refusal());
      };
      queue.push({ key, untilMs: performance.now() + waitMs, admit: () => resolve(place(key)), refuse });
      refuseIn(waitMs);
    });
  const takeFree = (key = '') => (free > 0 && mayHold(key) ? place(key) : null);
  return {
    takeFree,
    take(key = '') {
      const giveBackFree = takeFree(key);
      if (giveBackFree !== null) return Promise.resolve(giveBackFree);
      if (!queue.makeRoomFor(key)) {
        refused += 1;
        return Promise.reject(refusal());
      }
      waited += 1;
      return waitInQueue(key);
    },
    load: () => ({ waiting: queue.size(), waited, refused }),
  };
}

/**
 * One timer serves all waiters: in a burst, a timer for each waiter takes longer than its work. The timer may
 * run when no caller waits any more, so it does not keep the process alive.
 *
 * @returns a function that sets the timer, which refuses late waiters, unless it is set for an earlier time
 */
function createRefusals(queue: Pick<FairQueue<Waiter>, 'dropWhile'>): (ms: number) => void {
  let isTimed = false;
  const refuseIn = (ms: number) => {
    if (isTimed) return;
    isTimed = true;
    setTimeout(refuseLate, ms).unref();
  };
  const refuseLate = () => {
    isTimed = false;
    const nowMs = performance.now();
    let untilMs = Infinity;
    // Each key's first waiter is its earliest, but the key whose turn is next may have come last.
    queue.dropWhile((first) => {
      if (first.untilMs > nowMs) {
        untilMs = Math.min(untilMs, first.untilMs);
        return false;
      }
      first.refuse();
      return true;
    });
    if (untilMs < Infinity) refuseIn(untilMs - nowMs);
  };
  return refuseIn;
}

/** OVERLOADED, with the seconds after which the client may try again. */
export function overloaded(): DomainError {
  return new DomainError(
    'OVERLOADED',
    'The server has no capacity left for this request; nothing was done. Try again shortly.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
