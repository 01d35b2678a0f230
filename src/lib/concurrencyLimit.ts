/**
 * Limits concurrent work: a number of places, a number of waiting callers, and a maximum wait. What can't be served in
 * time is refused at once, because an answer after the client's time-out costs as much and is of no use.
 *
 * Callers with different keys, such as addresses, take turns: one that asks for much waits for itself, and fills the queue
 * for no other. Where a key has a share of its own, others find free places whatever it asks for.
 */
import { DomainError } from './errors.ts';

interface ConcurrencySettings {
  maxConcurrent: number;
  /** Places that one key has at most; all by default. */
  maxPerKey?: number;
  maxWaiting: number;
  waitMs: number;
  /** What a caller is refused with; OVERLOADED by default, which says that nothing was done. */
  refusal?: () => Error;
}

export interface ConcurrencyLimit {
  /**
   * Resolves to the function that gives the place back; further calls of it change nothing.
   * @throws the refusal
   */
  take(key?: string): Promise<() => void>;
  /** The same at once; null when there is no free place. */
  takeFree(key?: string): (() => void) | null;
  load(): PlacesLoad;
}

interface PlacesLoad {
  /** Who waits for a place now. */
  waiting: number;
  /** How many had to wait since the start. */
  waited: number;
  /** How many were refused since the start, at once or after their wait. */
  refused: number;
}

const RETRY_AFTER_SECONDS = 1;

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
  const queue = createFairQueue();
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
  const waitInQueue = (key: string) =>
    new Promise<() => void>((resolve, reject) => {
      const refuse = () => {
        clearTimeout(timer);
        refused += 1;
        reject(refusal());
      };
      const admit = () => {
        clearTimeout(timer);
        resolve(place(key));
      };
      const waiter: Waiter = { key, admit, refuse };
      const timer = setTimeout(() => {
        queue.remove(waiter);
        refuse();
      }, waitMs);
      queue.push(waiter);
    });
  const takeFree = (key = '') => (free > 0 && mayHold(key) ? place(key) : null);
  return {
    takeFree,
    take(key = '') {
      const giveBackFree = takeFree(key);
      if (giveBackFree !== null) return Promise.resolve(giveBackFree);
      if (queue.size() >= maxWaiting && !queue.makeRoomFor(key)) {
        refused += 1;
        return Promise.reject(refusal());
      }
      waited += 1;
      return waitInQueue(key);
    },
    load: () => ({ waiting: queue.size(), waited, refused }),
  };
}

interface Waiter {
  key: string;
  admit(): void;
  refuse(): void;
}

/** One waiter of each key in turn; those of one key in the order of arrival. */
function createFairQueue() {
  /** The key whose turn is next comes first; none is empty. */
  const byKey = new Map<string, Set<Waiter>>();
  let size = 0;
  const remove = (waiter: Waiter) => {
    const own = byKey.get(waiter.key);
    if (own?.delete(waiter) !== true) return;
    size -= 1;
    if (own.size === 0) byKey.delete(waiter.key);
  };
  return {
    size: () => size,
    remove,
    push(waiter: Waiter) {
      const own = byKey.get(waiter.key) ?? new Set();
      byKey.set(waiter.key, own.add(waiter));
      size += 1;
    },
    /** The first waiter in turn whose key may have another place. */
    shift(mayHold: (key: string) => boolean): Waiter | undefined {
      for (const [key, own] of byKey) {
        const [waiter] = mayHold(key) ? own : [];
        if (waiter === undefined) continue;
        byKey.delete(key);
        byKey.set(key, own);
        remove(waiter);
        return waiter;
      }
      return undefined;
    },
    /** Refuses the last waiter of the key with the most. @returns false when no key has more than this one would */
    makeRoomFor(key: string): boolean {
      let longest: ReadonlySet<Waiter> = new Set();
      for (const waiters of byKey.values()) if (waiters.size > longest.size) longest = waiters;
      const last = [...longest].at(-1);
      if (last === undefined || longest.size <= (byKey.get(key)?.size ?? 0) + 1) return false;
      remove(last);
      last.refuse();
      return true;
    },
  };
}

export function overloaded(): DomainError {
  return new DomainError(
    'OVERLOADED',
    'The server has no capacity left for this request; nothing was done. Try again shortly.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
