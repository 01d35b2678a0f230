/**
 * Turns of the event loop, so that work of one client can't hold up others by coming all at once: so many begin in each turn, of
 * each key in its turn, and what others send is read between them. After a long turn they begin one by one.
 */
import { createConcurrencyLimit } from './concurrencyLimit.ts';

interface TurnSettings {
  /** What begins in one turn of the event loop. */
  perTurn: number;
  maxWaiting: number;
  waitMs: number;
  nowMs?: () => number;
}

/**
 * Resolves when it is the turn of one more piece of work of `key`; null when it is at once, as for most requests, which a promise and
 * a turn of the loop would cost a tenth of their time. @throws DomainError OVERLOADED
 */
export type AwaitTurn = (key: string) => Promise<void> | null;

/** Longer than the ordinary requests of one turn take together. */
const LONG_TURN_MS = 10;

export function createTurns({
  perTurn,
  maxWaiting,
  waitMs,
  nowMs = () => performance.now(),
}: TurnSettings): AwaitTurn {
  const places = createConcurrencyLimit({ maxConcurrent: perTurn, maxWaiting, waitMs });
  let begun: (() => void)[] = [];
  let sinceMs = 0;
  const isLong = () => begun.length > 0 && nowMs() - sinceMs > LONG_TURN_MS;
  const beginTurn = () => {
    sinceMs = nowMs();
    setImmediate(endTurn);
  };
  const endTurn = () => {
    const ended = begun.splice(0, isLong() ? 1 : begun.length);
    if (begun.length > 0) beginTurn();
    for (const giveBack of ended) giveBack();
  };
  const begin = (giveBack: () => void) => {
    if (begun.push(giveBack) === 1) beginTurn();
  };
  const takeAllFree = () => {
    for (let place = places.takeFree(); place !== null; place = places.takeFree()) begun.push(place);
  };
  return (key) => {
    if (isLong()) takeAllFree();
    const giveBack = places.takeFree();
    if (giveBack === null) return places.take(key).then(begin);
    begin(giveBack);
    return null;
  };
}
