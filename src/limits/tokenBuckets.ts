/**
 * Budgets that refill steadily: bursts up to the capacity, and no more than the refill for long. One by itself, or one for
 * each key.
 */
import { LRUCache } from 'lru-cache';

export interface TokenBucket {
  /** Takes points, also more than are left. @returns whether as many were left */
  take(points: number): boolean;
  /** Seconds until something is left again; 0 when something is. */
  waitSeconds(): number;
}

export interface TokenBuckets {
  take(key: string, points: number): boolean;
  waitSeconds(key: string): number;
}

interface Rate {
  capacity: number;
  perSecond: number;
}

/** Limit on keys. The one that was idle for longest starts again with a full bucket, as it would have by then. */
const MAX_KEYS = 50_000;

/** @param nowMs a clock that never goes back. */
export function createTokenBucket({ capacity, perSecond }: Rate, nowMs: () => number): TokenBucket {
  // Below 0 when more was taken than was left.
  let left = capacity;
  let atMs = nowMs();
  const refill = () => {
    const now = nowMs();
    left = Math.min(capacity, left + ((now - atMs) / 1000) * perSecond);
    atMs = now;
  };
  return {
    take(points) {
      refill();
      const isEnough = left >= points;
      // A bounded debt: one large charge does not shut a client out for minutes.
      left = Math.max(left - points, -capacity);
      return isEnough;
    },
    waitSeconds() {
      refill();
      return left > 0 ? 0 : Math.max(Math.ceil(-left / perSecond), 1);
    },
  };
}

/** Made once for a server: the room for all keys is taken at once. @param nowMs a clock that never goes back. */
export function createTokenBuckets(rate: Rate, nowMs: () => number): TokenBuckets {
  const buckets = new LRUCache<string, TokenBucket>({ max: MAX_KEYS });
  return {
    take(key, points) {
      let bucket = buckets.get(key);
      if (bucket === undefined) {
        bucket = createTokenBucket(rate, nowMs);
        buckets.set(key, bucket);
      }
      return bucket.take(points);
    },
    waitSeconds: (key) => buckets.get(key)?.waitSeconds() ?? 0,
  };
}
