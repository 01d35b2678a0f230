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
}

const RETRY_AFTER_SECONDS = 1;

export function createConcurrencyLimit({
  maxConcurrent,
  maxWaiting,
  waitMs,
}: ConcurrencySettings): ConcurrencyLimit {
  let free = maxConcurrent;
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
      if (waiting.size >= maxWaiting) return Promise.reject(overloaded());
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(admitted);
          reject(overloaded());
        }, waitMs);
        const admitted = () => {
          clearTimeout(timer);
          resolve(place());
        };
        waiting.add(admitted);
      });
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
