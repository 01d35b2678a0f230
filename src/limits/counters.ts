/**
 * Limits how many items are open at a time, in total and for each key.
 */
export interface Counters {
  readonly total: number;
  /** Counts one more. @returns the function that uncounts it, or null at the limit */
  open(key: string): (() => void) | null;
}

/** @param maxPerKey Infinity to limit the total only. */
export function createCounters(max: number, maxPerKey: number): Counters {
  const perKey = new Map<string, number>();
  let total = 0;
  return {
    get total() {
      return total;
    },
    open(key) {
      const open = perKey.get(key) ?? 0;
      if (total >= max || open >= maxPerKey) return null;
      total += 1;
      perKey.set(key, open + 1);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        total -= 1;
        const left = (perKey.get(key) ?? 1) - 1;
        if (left === 0) perKey.delete(key);
        else perKey.set(key, left);
      };
    },
  };
}
