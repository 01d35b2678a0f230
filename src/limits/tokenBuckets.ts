/**
 * Budgets that refill steadily, one for each key: bursts up to the capacity, and no more than the refill for long.
 */
import { LRUCache } from 'lru-cache';

export interface TokenBuckets {
  /** Takes points, also more than are left. @returns whether as many were left */
  take(key: string, points: number): boolean;
  /** Seconds until something is left again; 0 when something is. */
  waitSeconds(key: string): number;
}

interface Bucket {
  /** Below 0 when more was taken than was left. */
  left: number;
  atMs: number;
}

/** Limit on keys. The one that was idle for longest starts again with a full bucket, as it would have by then. */
const MAX_KEYS = 50_000;

/** @param nowMs a clock that never goes back. */
export function createTokenBuckets(
  { capacity, perSecond }: { capacity: number; perSecond: number },
  nowMs: () => number,
): TokenBuckets {
  const buckets = new LRUCache<string, Bucket>({ max: MAX_KEYS });
  const refilled = (key: string): Bucket => {
    const now = nowMs();
    const bucket = buckets.get(key);
    if (bucket === undefined) return { left: capacity, atMs: now };
    bucket.left = Math.min(capacity, bucket.left + ((now - bucket.atMs) / 1000) * perSecond);
    bucket.atMs = now;
    return bucket;
  };
  return {
    take(key, points) {
      const bucket = refilled(key);
      const isEnough = bucket.left >= points;
      // A bounded debt: one large charge does not shut a client out for minutes.
      bucket.left = Math.max(bucket.left - points, -capacity);
      buckets.set(key, bucket);
      return isEnough;
    },
    waitSeconds(key) {
      const { left } = refilled(key);
      return left > 0 ? 0 : Math.max(Math.ceil(-left / perSecond), 1);
    },
  };
}
