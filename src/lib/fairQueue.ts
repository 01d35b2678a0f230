/**
 * A queue in which callers with different keys, such as addresses, take turns: one waiter of each key, those of one key in the
 * order of arrival.
 *
 * Arrays, and no Set for each key: a Set that is filled and emptied again makes new tables, each of which the one before it
 * points to. Once V8 has moved one of them to its old generation, all later ones and what is in them stay until its next full
 * collection, and that was a quarter of what a small request costs.
 */
export interface FairQueue<T> {
  size(): number;
  /**
   * Whether one more of the key may wait. A full queue refuses the last waiter of the key with the most for it, unless no key has more
   * than this one would.
   */
  makeRoomFor(key: string): boolean;
  push(waiter: T): void;
  /** The first waiter in turn whose key may go on. */
  shift(mayGoOn?: (key: string) => boolean): T | undefined;
  /** Takes out the first of each key for as long as it is over. */
  dropWhile(isOver: (first: T) => boolean): void;
}

interface Waiting {
  key: string;
  refuse(): void;
}

export function createFairQueue<T extends Waiting>(maxWaiting: number): FairQueue<T> {
  /** The key whose turn is next comes first; none is empty. */
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
