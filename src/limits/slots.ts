/**
 * Admission: so many at a time, so many waiting, and nobody for ever. What can't be served soon is refused at
 * once, because a request that is answered after its client has given up costs the same and helps nobody.
 */
import { DomainError } from '../errors.ts';

export interface SlotSettings {
  slots: number;
  maxWaiting: number;
  waitMs: number;
}

export interface Slots {
  /** Resolves with what gives the slot back; calling it again changes nothing. @throws DomainError OVERLOADED */
  take(): Promise<() => void>;
}

const RETRY_AFTER_SECONDS = 1;

export function createSlots({ slots, maxWaiting, waitMs }: SlotSettings): Slots {
  let free = slots;
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
  const slot = () => {
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
        return Promise.resolve(slot());
      }
      if (waiting.size >= maxWaiting) return Promise.reject(overloaded());
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(admitted);
          reject(overloaded());
        }, waitMs);
        const admitted = () => {
          clearTimeout(timer);
          resolve(slot());
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
