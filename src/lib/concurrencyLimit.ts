/**
 * Limits concurrent work: a number of places, a number of waiting callers, and a maximum wait. What can't be served in
 * time is refused at once, because an answer after the client's time-out costs as much and is of no use.
 */
import { DomainError } from './errors.ts';

interface ConcurrencySettings {
  maxConcurrent: number;
  maxWaiting: number;
  waitMs: number;
}

export interface ConcurrencyLimit {
  /**
   * Resolves to the function that gives the place back; further calls of it change nothing.
   * @throws DomainError OVERLOADED
   */
  take(): Promise<() => void>;
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
  maxWaiting,
  waitMs,
}: ConcurrencySettings): ConcurrencyLimit {
  let free = maxConcurrent;
  let waited = 0;
  let refused = 0;
  /** In the order of arrival. */
  const waiting = new Set<() => void>();
  const giveBack = () => {
    const [next] = waiting;
    if (next === undefined) {
      free += 1;
      return;
    }
    waiting.delete(next);
    next();
  };
  const place = () => {
    let isTaken = true;
    return () => {
      if (isTaken) giveBack();
      isTaken = false;
    };
  };
  return {
    take() {
      if (free > 0) {
        free -= 1;
        return Promise.resolve(place());
      }
      if (waiting.size >= maxWaiting) {
        refused += 1;
        return Promise.reject(overloaded());
      }
      waited += 1;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(admitted);
          refused += 1;
          reject(overloaded());
        }, waitMs);
        const admitted = () => {
          clearTimeout(timer);
          resolve(place());
        };
        waiting.add(admitted);
      });
    },
    load: () => ({ waiting: waiting.size, waited, refused }),
  };
}

export function overloaded(): DomainError {
  return new DomainError(
    'OVERLOADED',
    'The server has no capacity left for this request; nothing was done. Try again shortly.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
