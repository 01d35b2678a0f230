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

/**
 * Resolves when it is the turn of one more piece of work of `key`; null when it is at once, as for most requests, which a promise and
 * a turn of the loop would cost a tenth of their time. @throws DomainError OVERLOADED
 */
export type AwaitTurn = (key: string) => Promise<void> | null;

export function createTurns({ perTurn, maxWaiting, waitMs }: TurnSettings): AwaitTurn {
  const places = createConcurrencyLimit({ maxConcurrent: perTurn, maxWaiting, waitMs });
  let begun: (() => void)[] = [];
  const endTurn = () => {
    const ended = begun;
    begun = [];
    for (const giveBack of ended) giveBack();
  };
  const begin = (giveBack: () => void) => {
    if (begun.push(giveBack) === 1) setImmediate(endTurn);
  };
  return (key) => {
    const giveBack = places.takeFree();
    if (giveBack === null) return places.take(key).then(begin);
    begin(giveBack);
    return null;
  };
}
