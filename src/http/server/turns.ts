/**
 * Spreads work over turns of the event loop, so that a client can't hold up others by sending much at once:
 * the work that arrives in a turn begins together at its end, up to `perTurn` pieces in each turn, with keys
 * taking turns, and requests of others are read between them. After a long turn, work begins one by one.
 *
 *   arrives ─▶ waits for the end of this turn ─▶ among the next `perTurn`? ─▶ begins
 *                                                       └─no─▶ waits for the next turn, at most `waitMs`
 *
 * Work that begins together is also done together, step by step, and answered together: for a small request
 * that takes half of the processor time that one by one takes.
 */
import { overloaded } from '../../lib/concurrencyLimit.ts';
import { createFairQueue } from '../../lib/fairQueue.ts';

interface TurnSettings {
  /** Maximum pieces of work that begin in one turn of the event loop. */
  perTurn: number;
  maxWaiting: number;
  waitMs: number;
  nowMs?: () => number;
}

/** Resolves when it is the turn of one more piece of work of `key`. @throws DomainError OVERLOADED */
type AwaitTurn = (key: string) => Promise<void>;

interface Waiter {
  key: string;
  sinceMs: number;
  begin(): void;
  refuse(): void;
}

/** Longer than the ordinary requests of one turn take together. */
const LONG_TURN_MS = 10;

/** Makes the turns of one kind of work: other kinds neither wait for them nor count. */
export function createTurns({
  perTurn,
  maxWaiting,
  waitMs,
  nowMs = () => performance.now(),
}: TurnSettings): AwaitTurn {
  const queue = createFairQueue<Waiter>(maxWaiting);
  /** When this turn began; null while nothing waits, and nothing began in the last turn. */
  let sinceMs: number | null = null;
  const endTurn = () => {
    const endMs = nowMs();
    const isLong = endMs - (sinceMs ?? endMs) > LONG_TURN_MS;
    sinceMs = queue.size() > 0 ? endMs : null;
    if (sinceMs !== null) setImmediate(endTurn);
    let left = isLong ? 1 : perTurn;
    while (left > 0) {
      const waiter = queue.shift();
      if (waiter === undefined) return;
      if (endMs - waiter.sinceMs > waitMs) waiter.refuse();
      else {
        waiter.begin();
        left -= 1;
      }
    }
  };
  return (key) => {
    if (!queue.makeRoomFor(key)) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      const atMs = nowMs();
      queue.push({ key, sinceMs: atMs, begin: resolve, refuse: () => reject(overloaded()) });
      if (sinceMs !== null) return;
      sinceMs = atMs;
      setImmediate(endTurn);
    });
  };
}
