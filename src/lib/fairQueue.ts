/**
 * A queue in which callers with different keys, such as addresses, take turns: one waiter of each key, and
 * the waiters of one key in the order of arrival.
 *
 * Each key has an array and not a Set: a Set that is filled and emptied again makes new tables, and each
 * table points to the next one. Once V8 has moved a table to its old generation, all later tables and their
 * contents stay until its next full collection, which was a quarter of the cost of a small request.
 */
export interface FairQueue<T> {
  size(): number;
  /**
   * Whether one more waiter of the key may wait. A full queue refuses the last waiter of the key with the
   * most waiters to make room, unless no key has more than this key would.
   */
  makeRoomFor(key: string): boolean;
  push(waiter: T): void;
  /** Takes out the first waiter in turn whose key may go on. */
  shift(mayGoOn?: (key: string) => boolean): T | undefined;
  /** Takes out the first waiter of each key as long as `isOver` is true of it. */
  dropWhile(isOver: (first: T) => boolean): void;
}

interface Waiting {
  key: string;
  refuse(): void;
}

/** @param maxWaiting waiters of all keys together; call `makeRoomFor` before each `push` to keep to it */
export function createFairQueue<T extends Waiting>(maxWaiting: number): FairQueue<T> {
  /** The waiters by key. The key whose turn is next comes first; no list is empty. */
  const byKey = new Map<string, T[]>();
  let size = 0;
  const removeAt = (key: string, own: T[], index: number) => {
    const [waiter] = own.splice(index, 1);
    size -= 1;
    if (own.length === 0) byKey.delete(key);
    return waiter;
  };
  return {
    size: () => size,
    makeRoomFor(key) {
      if (size < maxWaiting) return true;
      let longestKey = '';
      let longest: T[] = [];
      for (const [other, own] of byKey) {
        if (own.length > longest.length) [longestKey, longest] = [other, own];
      }
      if (longest.length <= (byKey.get(key)?.length ?? 0) + 1) return false;
      removeAt(longestKey, longest, longest.length - 1)?.refuse();
      return true;
    },
    push(waiter) {
      const own = byKey.get(waiter.key);
      if (own === undefined) byKey.set(waiter.key, [waiter]);
      else own.push(waiter);
      size += 1;
    },
    shift(mayGoOn = () => true) {
      for (const [key, own] of byKey) {
        if (!mayGoOn(key)) continue;
        if (byKey.size > 1) {
          byKey.delete(key);
          byKey.set(key, own);
        }
        return removeAt(key, own, 0);
      }
      return undefined;
    },
    dropWhile(isOver) {
      for (const [key, own] of byKey) {
        for (let [first] = own; first !== undefined && isOver(first); [first] = own) removeAt(key, own, 0);
      }
    },
  };
}
