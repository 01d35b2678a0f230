/**
 * Limits how many items are open at a time, or how much all of them weigh, in total and for each key.
 */
export interface Counters {
  readonly total: number;
  /** Counts one more item. @returns the function that uncounts it, or null at the limit */
  open(key: string, weight?: number): (() => void) | null;
}

/** @param maxPerKey Infinity to limit the total only. */
export function createCounters(max: number, maxPerKey: number): Counters {
  const perKey = new Map<string, number>();
  let total = 0;
  return {
    get total() {
      return total;
    },
    open(key, weight = 1) {
      const open = perKey.get(key) ?? 0;
      if (total + weight > max || open + weight > maxPerKey) return null;
      total += weight;
      perKey.set(key, open + weight);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        total -= weight;
        const left = (perKey.get(key) ?? weight) - weight;
        if (left <= 0) perKey.delete(key);
        else perKey.set(key, left);
      };
    },
  };
}
