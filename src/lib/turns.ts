/**
 * Turns of the event loop, so that work of one client can't hold up others by coming all at once: so many begin in each turn, of
 * each key in its turn, and what others send is read between them.
 */
import { createConcurrencyLimit } from './concurrencyLimit.ts';

interface TurnSettings {
  /** What begins in one turn of the event loop. */
  perTurn: number;
  maxWaiting: number;
  waitMs: number;
}

/** Resolves when it is the turn of one more piece of work of `key`. @throws DomainError OVERLOADED */
export type AwaitTurn = (key: string) => Promise<void>;

export function createTurns({ perTurn, maxWaiting, waitMs }: TurnSettings): AwaitTurn {
  const places = createConcurrencyLimit({ maxConcurrent: perTurn, maxWaiting, waitMs });
  return async (key) => {
    const giveBack = await places.take(key);
    setImmediate(giveBack);
  };
}
